/** Numbers of records and requests by kind: `{ orders: 12, requests: 14 }`. */
export type Counts = Record<string, number>;

export function addCounts(all: readonly Counts[]): Counts {
  const sum: Counts = {};
  for (const counts of all) for (const [kind, n] of Object.entries(counts)) sum[kind] = (sum[kind] ?? 0) + n;
  return sum;
}
