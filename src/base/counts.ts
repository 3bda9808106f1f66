/** Numbers of records and requests by kind: `{ orders: 12, requests: 14 }`. */
export type Counts = Record<string, number>;

/** The counts of a flow at the end of its run. `problem`: another reason why it is incomplete, with the next step. */
export type Conclusion = { counts: Counts; problem?: string | undefined };

export function addCounts(all: readonly Counts[]): Counts {
  const sum: Counts = {};
  for (const counts of all) for (const [kind, n] of Object.entries(counts)) sum[kind] = (sum[kind] ?? 0) + n;
  return sum;
}

export const formatCount = (n: number) => n.toLocaleString('en');

/** A number with its noun: `1 order`, `1,200 orders`. */
export const counted = (n: number, one: string, many = `${one}s`) => `${formatCount(n)} ${n === 1 ? one : many}`;

/** Some of `all` codes. */
export const codesText = (codes: readonly string[], all: number) => codes.join(', ') + (all > codes.length ? ' …' : '');
