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

/** If so many records in a row fail without a success in between, the service has failed. */
export const failuresInARow = 5;

/**
 * How long the requests of one record may keep failing, and how long to wait before looking what a lost one has done,
 * in milliseconds.
 */
export type RequestLimits = { giveUpAfterMs: number; settleMs: number };

/** A record that always fails costs a run 15 s. */
export const defaultLimits: RequestLimits = { giveUpAfterMs: 15_000, settleMs: 1000 };

/** How often the lines of an order are sent: a second look sends what the first left in doubt. */
export const looksAtMost = 2;

/** How often to look whether another process has finished an order that it is pushing, in milliseconds. */
export const leasePollMs = 500;

/** Orders and sub-orders that may be removed in 24 hours: `perDay`, or that share of those pushed, if it is more (promise 6). */
export const allowance = { perDay: 50, shareOfPushed: 0.05 } as const;

/** Pages of a hundred orders of the service in which a run of the catalog looks for products. */
export const productPagesAtMost = 30;

const minuteMs = 60_000;
export const dayMs = 24 * 60 * minuteMs;

/** Whether waiting may help: `transient`, a 500, a 403, a lost response; `permanent`, the service refused the record. */
export type FailureKind = 'transient' | 'permanent';

/** The one backoff of records, in milliseconds, by the number of failures in a row. The last one is for all further failures. */
export const retryDelaysMs = [0, 10, 20, 40, 80, 160, 320, 640, 1280, 1440].map((minutes) => minutes * minuteMs);

/**
 * How long after so many failures in a row a record is tried again although nothing changed, in milliseconds. A record that
 * the service refused is tried again after a day: the service may have been corrected meanwhile.
 */
export const retryDelayMs = (kind: FailureKind, failures: number): number =>
  kind === 'permanent' ? dayMs : (retryDelaysMs[failures - 1] ?? dayMs);

/** A creation whose response was lost is looked at once more after so many milliseconds: a copy may have appeared. */
export const lookAgainMs = 60 * minuteMs;
