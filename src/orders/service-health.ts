import { describeError } from '../base/errors.ts';
import { sleep } from '../base/timeout.ts';
import { waitingFor } from '../base/waits.ts';
import {
  type CallOptions,
  MalformedResponseError,
  type RefusedError,
  type ReviewApi,
  UnavailableError,
} from '../review-api/index.ts';

/** How long the requests of one order may keep failing, in milliseconds. */
export type RetryBudget = {
  /** One request, before the service is checked. */
  beforeCheckMs: number;
  /** The same request once more, after the service has shown that it is up. */
  afterCheckMs: number;
  /** Between the two. */
  pauseMs: number;
  /** All requests of the order together. Then each is sent once. */
  totalMs: number;
  /** As `totalMs`, for an order whose last push failed too. */
  totalAfterFailedPushMs: number;
};

/** With the check in between, an order that always fails costs a run at most 30 s, and from the second run on about 5 s. */
export const defaultRetryBudget: RetryBudget = {
  beforeCheckMs: 15_000,
  afterCheckMs: 5000,
  pauseMs: 1000,
  totalMs: 20_000,
  totalAfterFailedPushMs: 5000,
};

/** As many orders in a row that fail, while none succeeds, are a failure of the service. */
const failuresInARow = 5;

export type RequestLimits = Pick<CallOptions, 'giveUpAfterMs' | 'beforeSend'>;
export type Attempted<T> = { value: T } | { failed: string };

export type ServiceHealth = ReturnType<typeof openServiceHealth>;
export type RecordRequests = ReturnType<ServiceHealth['ofRecord']>;

/**
 * Distinguishes a failure of one order (the service always responds to it with 500) from a failure of the service:
 *
 * 1. Send the request, and again while it fails, for `beforeCheckMs`.
 * 2. List one order. A service that is down fails here too, and the error is thrown.
 * 3. Send the request again, for `afterCheckMs`; not where the order has failed for too long already, or in an earlier run.
 * 4. If it still fails, it is this order's failure where requests of other orders succeeded meanwhile, or where the order
 *    failed in an earlier run too. Otherwise it is so only while fewer than five orders in a row fail.
 *
 * Shared by the orders of a slice.
 *
 * @param options.signal ends all waits, which then throw its reason.
 */
export function openServiceHealth(
  api: Pick<ReviewApi, 'orders'>,
  {
    retryBudget = defaultRetryBudget,
    signal = new AbortController().signal,
  }: { retryBudget?: RetryBudget | undefined; signal?: AbortSignal | undefined } = {},
) {
  const wait = (delayMs: number) => waitingFor('outage', () => sleep(delayMs, signal));
  let [inARow, successes] = [0, 0];
  return {
    /** The requests of one push of one order, or of another record. @param hasFailedBefore whether its last push failed. */
    ofRecord({ hasFailedBefore }: { hasFailedBefore: boolean }) {
      let leftMs = hasFailedBefore ? retryBudget.totalAfterFailedPushMs : retryBudget.totalMs;
      let isCounted = false;
      const spending = async <T>(work: () => Promise<T>): Promise<T> => {
        const startedMs = performance.now();
        try {
          return await work();
        } catch (error) {
          leftMs -= performance.now() - startedMs;
          throw error;
        }
      };
      return {
        /** Whether the order may still wait for the service: not where its requests have failed for too long. */
        hasBudgetLeft: () => leftMs > 0,

        /** Waits, at the expense of the order's retry budget. @throws the reason of the signal. */
        async wait(delayMs: number): Promise<void> {
          leftMs -= delayMs;
          await wait(delayMs);
        },

        /**
         * Sends a request about the order.
         *
         * @param beforeSend called right before each attempt: the check of the lease, where the request writes.
         * @returns `failed` with the reason when only this request fails.
         * @throws the error when the service itself fails, and errors that retrying does not change.
         */
        async attempt<T>(
          beforeSend: (() => void) | undefined,
          send: (limits: RequestLimits) => Promise<T>,
        ): Promise<Attempted<T>> {
          const successesBefore = successes;
          const maySendAgain = leftMs > 0 && !hasFailedBefore;
          const sendFor = async (mostMs: number): Promise<Attempted<T>> => {
            const value = await spending(() => send({ giveUpAfterMs: mostMs, beforeSend }));
            // Only writes count: reading may work while writing does not.
            if (beforeSend) [inARow, successes] = [0, successes + 1];
            return { value };
          };
          let failure: unknown;
          try {
            return await sendFor(Math.max(0, Math.min(retryBudget.beforeCheckMs, leftMs)));
          } catch (error) {
            if (!isTransient(error)) throw error;
            failure = error;
          }
          // Waits for as long as the client's own limits allow, and throws where the service stays away.
          await api.orders.list({ limit: 1 });
          if (maySendAgain) {
            await wait(retryBudget.pauseMs);
            try {
              return await sendFor(retryBudget.afterCheckMs);
            } catch (error) {
              if (!isTransient(error)) throw error;
              failure = error;
            }
          }
          const isOfThisOrder = hasFailedBefore || successes > successesBefore;
          // An order with five bad lines is one order.
          if (!isOfThisOrder && !isCounted) [inARow, isCounted] = [inARow + 1, true];
          if (!isOfThisOrder && inARow >= failuresInARow) throw failure;
          return { failed: describeError(failure) };
        },
      };
    },
  };
}

/** Another attempt may succeed. An invalid certificate (`retryable` false) is a failure of the service. */
function isTransient(error: unknown): boolean {
  return error instanceof MalformedResponseError || (error instanceof UnavailableError && error.retryable);
}

/** Statuses that say something about the record that was sent. */
const statusesOfRecords: readonly (number | undefined)[] = [400, 409, 413, 422];

/**
 * Whether the refusal is about the record (`permanent`), or about access, an address that moved or a proxy, so that the same
 * request may soon succeed (`transient`: 403, 301 and others).
 */
export const refusalKind = ({ status }: RefusedError) =>
  statusesOfRecords.includes(status) ? ('permanent' as const) : ('transient' as const);
