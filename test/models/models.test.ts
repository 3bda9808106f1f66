import { describe, expect, test } from 'vitest';
import { isExhaustive } from '../harness/sampled.ts';
import { probes, reverts, scenarios } from './catalogue.ts';
import { describeFailure, explore, type Model } from './check.ts';

/** Faults in one order of events. `npm run models` explores those with two and three, too. */
const bound = isExhaustive ? undefined : 1;

describe('each line once', () => {
  const reached = new Set<string>();

  for (const { name, run } of scenarios) {
    test(`${name}: no order of events breaks a promise`, () => {
      const explored = run(bound);
      for (const probe of explored.reached) reached.add(probe);
      expect(explored.failure, describeFailure(explored)).toBeUndefined();
    });
  }

  test('the states in which things go wrong were all visited', () => {
    expect([...reached].sort()).toEqual([...probes].sort());
  });

  for (const { name, run } of reverts) {
    test(`${name}: the checker finds a broken promise`, () => {
      expect(run().failure).toBeDefined();
    });
  }
});

describe('the checker', () => {
  /** Counts to three; `fault` may take it to a state that it cannot leave. */
  const counter: Model<number> = {
    initial: 0,
    next: (n) => [
      ...(n < 3 ? [{ action: 'one more', state: n + 1 }] : []),
      ...(n === 1 ? [{ action: 'fall', state: 9, isFault: true }] : []),
    ],
    key: String,
    invariants: {},
    goal: { name: 'it gets to three', isReached: (n) => n === 3 },
    probes: { two: (n) => n === 2, seven: (n) => n === 7 },
  };

  test('a broken invariant comes with the shortest list of actions', () => {
    const { failure } = explore({ ...counter, invariants: { 'never two': (n) => n !== 2 } });
    expect(failure).toEqual({ promise: 'never two', actions: ['one more', 'one more'], last: 2 });
  });

  test('a state from which the goal cannot be reached is a failure', () => {
    const { failure } = explore(counter);
    expect(failure).toEqual({ promise: 'once faults stop, it gets to three', actions: ['one more', 'fall'], last: 9 });
  });

  test('only states that were visited count as reached', () => {
    expect([...explore(counter).reached]).toEqual(['two']);
  });
});
