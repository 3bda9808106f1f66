import { type Happening, happenings, type Plan, without } from './plan.ts';

export type Shrunk = {
  plan: Plan;
  /** Simulations that it took. */
  tries: number;
  /** Whether the plan failed again when it was run a second time, unchanged. */
  isRepeatable: boolean;
};

/**
 * Looks for the shortest prefix of a plan that still fails, then for the fewest kinds of happenings in it, then for the
 * fewest happenings.
 *
 * @param failedOn day on which the plan failed.
 * @param run runs a plan from the beginning. Returns the day on which it fails; undefined: it does not.
 * @param options.tries the most simulations.
 */
export async function shrink(
  plan: Plan,
  failedOn: number,
  run: (plan: Plan) => Promise<number | undefined>,
  options: { tries: number },
): Promise<Shrunk> {
  let tries = 0;
  let smallest = prefix(plan, failedOn);
  /** Takes the smaller plan over if it fails too, and cuts it where it fails. */
  const take = async (smaller: Plan): Promise<boolean> => {
    if (tries === options.tries) return false;
    tries += 1;
    const day = await run(smaller);
    if (day === undefined) return false;
    smallest = prefix(smaller, day);
    return true;
  };
  if (!(await take(smallest))) return { plan: smallest, tries, isRepeatable: false };
  await reduce(
    () => [...new Set(happenings(smallest).map(({ kind }) => kind))],
    (kinds) => take(without(smallest, ({ kind }) => kinds.includes(kind))),
  );
  await reduce(
    () => happenings(smallest),
    (some) => take(without(smallest, (one) => some.some((other) => isSame(one, other)))),
  );
  return { plan: smallest, tries, isRepeatable: true };
}

/** Drops parts of a list, halves first, then smaller and smaller ones, until no single item can be dropped. */
async function reduce<T>(list: () => T[], drop: (items: T[]) => Promise<boolean>): Promise<void> {
  for (let size = Math.ceil(list().length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2)) {
    for (let from = 0; from < list().length; ) {
      if (!(await drop(list().slice(from, from + size)))) from += size;
    }
  }
}

const prefix = (plan: Plan, dayCount: number): Plan => ({ ...plan, days: plan.days.slice(0, dayCount) });
const isSame = (a: Happening, b: Happening) => a.kind === b.kind && a.seed === b.seed;
