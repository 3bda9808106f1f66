import { createRandom } from '../../src/sandbox/sample-shop/random.ts';

const isExhaustive = process.env.EXHAUSTIVE === '1';
const seed = Number(process.env.TEST_SEED ?? Date.now() % 1_000_000);

/**
 * Some of many cases that each take seconds: `count` of them, others in each run, so that all are met over time. With
 * EXHAUSTIVE=1 (`npm run test:exhaustive`) all of them. A test shows the case in its failure; TEST_SEED repeats the choice.
 */
export function sampled<T>(cases: readonly T[], count: number): readonly T[] {
  return isExhaustive ? cases : createRandom(seed).sample(cases, count);
}
