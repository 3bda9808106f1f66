import { createRandom } from '../../src/sandbox/sample-shop/random.ts';

/** Whether all cases run, also those that take minutes (`npm run test:exhaustive`). */
export const isExhaustive = process.env.EXHAUSTIVE === '1';

/**
 * The seed of all random choices of the tests. It is fixed, so that a red test is about a change and not about luck.
 * TEST_SEED=<number> takes other cases, and so do the soaks: PROPERTY_RUNS=<number>, `npm run test:exhaustive`.
 */
export const testSeed = Number(process.env.TEST_SEED ?? 1);

/** One case of many that take seconds each. With EXHAUSTIVE=1 (`npm run test:exhaustive`), all of them. */
export const sampled = <T>(cases: readonly T[]): readonly T[] =>
  isExhaustive ? cases : createRandom(testSeed).sample(cases, 1);
