import { describe, expect, test } from 'vitest';
import { isExhaustive } from '../harness/sampled.ts';
import { probes, promises, reverts, scenarios } from './catalogue.ts';
import { describeFailure } from './check.ts';

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

  const broken = new Set<string | undefined>();

  for (const { name, run } of reverts) {
    test(`${name}: the checker finds a broken promise`, () => {
      const { failure } = run();
      expect(failure).toBeDefined();
      broken.add(failure?.promise);
    });
  }

  test('each promise, and the goal, is broken without some part of the design', () => {
    expect([...broken].sort()).toEqual([...promises].sort());
  });
});
