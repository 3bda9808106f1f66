/**
 * Whether waiting may help: `transient`, a 500, a 403, a lost response; `permanent`, the service refused the record.
 */
export type FailureKind = 'transient' | 'permanent';

const minuteMs = 60_000;
const dayMs = 24 * 60 * minuteMs;

/**
 * The one backoff of records, in milliseconds, by the number of failures in a row: the next run tries again, then after
 * 10, 20, 40 minutes and so on, up to a day. The last one is for all further failures.
 */
export const retryDelaysMs: readonly number[] = [
  0,
  ...Array.from({ length: 9 }, (_, index) => Math.min(dayMs, 10 * minuteMs * 2 ** index)),
];

/**
 * How long after a failure a record is tried again although nothing changed, in milliseconds. What the service refused
 * is tried again after a day: the service may have been corrected meanwhile.
 *
 * @param failures that followed each other, this one included.
 */
export const retryDelayMs = (kind: FailureKind, failures: number): number =>
  kind === 'permanent' ? dayMs : (retryDelaysMs[failures - 1] ?? dayMs);

/** When a creation whose response was lost is looked at once more, in milliseconds: a copy may have appeared. */
export const lookAgainMs = 60 * minuteMs;
