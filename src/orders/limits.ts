/** Orders that a run reads, compares and pushes at a time: small enough that workers share a batch. */
const sliceSize = 500;

/** Splits codes into slices of `sliceSize`. */
export const slicesOf = (codes: readonly string[]): string[][] =>
  Array.from({ length: Math.ceil(codes.length / sliceSize) }, (_, at) =>
    codes.slice(at * sliceSize, (at + 1) * sliceSize),
  );

/** Slices of orders that are read or compared at the same time: each has a connection to the shop. */
export const slicesAtATime = 2;

/**
 * Orders that are pushed at the same time. Eight requests stay in flight while other orders wait for a batch. With
 * batches of 64 orders, Postgres takes 15 % less processor time an order than with batches of 32.
 */
export const ordersAtATime = 384;

/** If this many records in a row fail without a success in between, the service has failed. */
export const failuresInARow = 5;

/**
 * In milliseconds. `giveUpAfterMs`: how long the requests of one record may keep failing. `settleMs`: the wait before a
 * look at the effect of a lost request.
 */
export type RequestLimits = { giveUpAfterMs: number; settleMs: number };

/** A record that always fails costs a run 15 s. */
export const defaultLimits: RequestLimits = { giveUpAfterMs: 15_000, settleMs: 1000 };

/** How often the lines of an order are sent. The second time sends what the first left in doubt. */
export const looksAtMost = 2;

/** How often to look whether another process has finished an order that it is pushing, in milliseconds. */
export const leasePollMs = 500;

/** Removals of orders and sub-orders in 24 hours: `perDay`, or a share of the orders pushed, if more (promise 6). */
export const allowance = { perDay: 50, shareOfPushed: 0.05 } as const;

/** A catalog run looks for products in this many pages of a hundred orders of the service. */
export const productPagesAtMost = 30;

const minuteMs = 60_000;
export const dayMs = 24 * 60 * minuteMs;

/** Whether waiting may help. `transient`: a 500, 403, lost response. `permanent`: the service refused the record. */
export type FailureKind = 'transient' | 'permanent';

/** The one backoff of records, in milliseconds, by the number of failures in a row. All further failures wait a day. */
export const retryDelaysMs = [0, 10, 20, 40, 80, 160, 320, 640, 1280, 1440].map((minutes) => minutes * minuteMs);

/**
 * The delay in milliseconds before a record is tried again although nothing changed. A record that the service refused
 * is tried again after a day, because the service may have been corrected.
 */
export const retryDelayMs = (kind: FailureKind, failures: number): number =>
  kind === 'permanent' ? dayMs : (retryDelaysMs[failures - 1] ?? dayMs);

/** If the response to a creation was lost, look once more after this many milliseconds: a copy may have appeared. */
export const lookAgainMs = 60 * minuteMs;
