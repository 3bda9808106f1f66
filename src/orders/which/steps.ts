/** Orders in one step of a small batch, so that several workers share it. */
const ordersPerSmallStep = 200;
/** Orders in one step of a large batch: the queue keeps a row a step until the run ends. */
const ordersPerLargeStep = 1000;
const smallBatch = 2000;

/** One batch of a run: the codes of each of its steps, and where the run goes on. */
export type Batch<State> = { steps: string[][]; state: State };

/** The codes of a batch, in steps. */
export function stepsOf(codes: readonly string[]): string[][] {
  const size = codes.length <= smallBatch ? ordersPerSmallStep : ordersPerLargeStep;
  const steps: string[][] = [];
  for (let at = 0; at < codes.length; at += size) steps.push(codes.slice(at, at + size));
  return steps;
}
