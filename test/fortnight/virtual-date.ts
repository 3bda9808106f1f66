/**
 * Lets `Date` of this process be behind the calendar. Preloaded into processes of the command line (`node --import`)
 * with the milliseconds in VIRTUAL_TIME_BEHIND_MS.
 */
const Real = Date;

/** From now on `new Date()`, `Date()` and `Date.now()` are behind by what `behindMs` returns. */
export function shiftDates(behindMs: () => number): void {
  const now = () => Real.now() - behindMs();
  globalThis.Date = new Proxy(Real, {
    construct: (real, args, created) =>
      Reflect.construct(real, args.length === 0 ? [now()] : args, created === globalThis.Date ? real : created),
    apply: () => new Real(now()).toString(),
    get: (real, name) => (name === 'now' ? now : Reflect.get(real, name)),
  });
}

const fixedMs = process.env.VIRTUAL_TIME_BEHIND_MS;
if (fixedMs !== undefined) shiftDates(() => Number(fixedMs));
