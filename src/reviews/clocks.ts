import type { Second } from '../base/time/span.ts';

/** The service's clock, by the `Date` header of its overview, and the clock of this machine, as seconds since 1970. */
export type Clocks = {
  /** The earlier one of the two, and the later one. Both are this machine's where `serviceOffBy` is set. */
  earliest: Second;
  latest: Second;
  /**
   * How far the service's clock is ahead of this machine's, in seconds (negative: behind), where it is more than a day.
   */
  serviceOffBy: Second | undefined;
};

/** Clocks that are right, but of which one takes its time zone for UTC, differ by less than this, in seconds. */
const errorAtMost = 86_400;

export function compareClocks(service: Second, ours: Second): Clocks {
  if (Math.abs(service - ours) > errorAtMost) return { earliest: ours, latest: ours, serviceOffBy: service - ours };
  return { earliest: Math.min(service, ours), latest: Math.max(service, ours), serviceOffBy: undefined };
}

/** Problem and hint for clocks that differ by `offBy` seconds (see `Clocks`). */
export function clockProblem(offBy: Second): { what: string; hint: string } {
  const days = Math.round(Math.abs(offBy) / 86_400).toLocaleString('en');
  const side = offBy > 0 ? 'ahead of' : 'behind';
  return {
    what: `the service's clock (its Date header) is ${days} days ${side} the clock of this machine`,
    hint:
      'correct this machine if its date is wrong; otherwise ask the service’s makers. ' +
      'Until then the dates of the reviews decide what is read',
  };
}
