import { ReviewSyncError } from '../base/errors.ts';
import {
  AuthenticationError,
  type CallOptions,
  NotFoundError,
  RefusedError,
  ReviewApiError,
  UnavailableError,
  UnknownOutcomeError,
} from '../review-api/index.ts';
import { type FailureKind, failuresInARow } from './limits.ts';
import type { OrderDeps } from './order-deps.ts';

/**
 * How a request about one record ended. `attempts`: how often it was sent, as after a 429 or a 401. `unknown`: it may
 * have been carried out. `absent`: 404. `isRefused`: 4xx, so the service did not carry it out.
 */
export type Sent<T> =
  | { kind: 'done'; value: T; attempts: number }
  | { kind: 'absent' | 'unknown' | 'failed'; reason: string; failure: FailureKind; isRefused?: true };

const absentReason = 'the service answers 404 to a request about it';
export const absent = { kind: 'absent', reason: absentReason, failure: 'transient' } as const;

/** Statuses that say something about the record that was sent. */
const statusesOfRecords: readonly (number | undefined)[] = [400, 409, 413, 422];

export type Send = <T>(request: (options: CallOptions) => Promise<T>) => Promise<Sent<T>>;

/**
 * Returns the function that sends the requests of one record, one after the other. After a request that kept failing, each
 * further request is sent once only. An error that is not about this record is thrown: no token, no connection, an abort.
 *
 * @param beforeAttempt called right before each attempt: the check of the lease.
 */
export function openRequests({ limits, signal }: OrderDeps, beforeAttempt?: () => void): Send {
  let { giveUpAfterMs } = limits;
  return async (request) => {
    let attempts = 0;
    // The client sends eight orders at a time. After an abort, the waiting ones must not start.
    const beforeSend = () => {
      signal.throwIfAborted();
      beforeAttempt?.();
      attempts += 1;
    };
    try {
      signal.throwIfAborted();
      return { kind: 'done', value: await request({ giveUpAfterMs, beforeSend }), attempts };
    } catch (error) {
      if (error instanceof NotFoundError) return absent;
      if (error instanceof UnknownOutcomeError) return { kind: 'unknown', reason: error.message, failure: 'transient' };
      if (error instanceof RefusedError) {
        // Other statuses, such as 403, are about access or a proxy. The same request may soon succeed.
        const failure = statusesOfRecords.includes(error.status) ? 'permanent' : 'transient';
        return { kind: 'failed', reason: error.message, failure, isRefused: true };
      }
      // A failure of the token or the credentials concerns all records.
      if (!(error instanceof ReviewApiError) || error.path === '/oauth/token') throw error;
      if (error instanceof AuthenticationError && !error.isForAll)
        return { kind: 'failed', reason: error.message, failure: 'transient' };
      // One order may always get 429 while others succeed. The breaker tells this case from an overloaded service.
      // Without a connection the service is down, which is no failure of this record.
      if (!error.retryable || (error instanceof UnavailableError && error.isUnsent)) throw error;
      giveUpAfterMs = 0;
      // The same failure has the same reason, however often it was tried (discarded dead letters).
      return { kind: 'failed', reason: error.reason, failure: 'transient' };
    }
  };
}

/**
 * Tells a failure of one record from a failure of the service. After five transient failures of records in a row,
 * nothing more is sent. "In a row" counts by start time, because failing records retry and finish last. A success that
 * started later resets the count.
 */
export function openBreaker() {
  let begun = 0;
  let lastSuccess = 0;
  const failures: number[] = [];
  let opened: string | undefined;
  return {
    /**
     * @param hasFailedBefore whether the record failed before. If so, its failure says nothing about the service.
     * @returns a function to call at the end of the record. Without `failure`, the service accepted or refused the
     *   record, so it is up. `failure`: a transient reason. The function throws a ReviewSyncError if the service counts
     *   as down.
     */
    begin(hasFailedBefore: boolean) {
      begun += 1;
      const record = begun;
      return (failure?: string): void => {
        if (failure === undefined) lastSuccess = Math.max(lastSuccess, record);
        else if (!hasFailedBefore) failures.push(record);
        if (failures.filter((one) => one > lastSuccess).length >= failuresInARow) opened ??= failure;
        if (failure === undefined || opened === undefined) return;
        const hint = 'Nothing is lost: run it again when the review service responds.';
        throw new ReviewSyncError('unavailable', opened, { hint });
      };
    },
  };
}
