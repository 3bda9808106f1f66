import { createRandom, type Random } from '../../src/sandbox/sample-shop/random.ts';
import type { Setting } from './stage.ts';

/** Something that happens. All its choices come from its seed, so that it stays the same when others are left out. */
export type Happening = { kind: string; seed: number };

/** What happens at one time of the day: first the events, then runs, and while these go on, a fault. */
export type Moment = {
  /** Hours since midnight in the zone of the setting, as far as its days have 24 hours. */
  hour: number;
  events: Happening[];
  fault?: Happening;
  /** Commands that run at the same time. */
  runs: Run[];
};

/** `serve` receives webhooks meanwhile. */
export type Run =
  | 'orders'
  | 'reviews'
  | 'catalog'
  | 'reconcile'
  | 'worker'
  | 'serve'
  | 'backfill orders'
  | 'backfill reviews';

export type Day = { number: number; moments: Moment[]; isOffline: boolean };

export type Plan = { seed: number; setting: Setting; start: Date; days: Day[] };

/** How often things happen: a share of all moments, or, for `fault`, a weight among the faults. */
export type Rates = { events: Readonly<Record<string, number>>; faults: Readonly<Record<string, number>> };

const zones = ['Europe/Berlin', 'America/New_York', 'Asia/Seoul', 'Australia/Lord_Howe', 'America/Santiago'] as const;
const dayMs = 86_400_000;

/** Draws all that will happen. Pure: the same for the same arguments. */
export function planSimulation(seed: number, dayCount: number, rates: Rates): Plan {
  const random = createRandom(seed).fork('simulation');
  const setting: Setting = {
    zone: random.pick(zones),
    dates: random.pick(['instants', 'local']),
    feed: random.pick(['feed', 'feed', 'updated_at']),
    deletes: random.pick(['off', 'send', 'send']),
    lastPageLink: random.pick(['real', 'real', 'capped', 'absent']),
  };
  const start = startOf(setting.zone, dayCount, random);
  const days: Day[] = [];
  let offlineUntil = -1;
  for (let number = 1; number <= dayCount; number += 1) {
    const ofDay = random.fork(`day ${number}`);
    if (ofDay.chance(0.015)) offlineUntil = number + ofDay.integer(1, 12);
    days.push({ number, isOffline: number <= offlineUntil, moments: planMoments(ofDay, rates) });
  }
  return { seed, setting, start, days };
}

function planMoments(random: Random, rates: Rates): Moment[] {
  // Often at night, where clocks change.
  const hours = [random.next() * 4, 6 + random.next() * 12].slice(random.chance(0.4) ? 0 : 1);
  return hours.map((hour) => {
    // Each kind draws from a stream of its own: a new kind leaves the others where they are.
    const events = Object.entries(rates.events).flatMap(([kind, rate]) => {
      const ofKind = random.fork(`${kind} at ${hour}`);
      return ofKind.chance(rate) ? [{ kind, seed: ofKind.integer(0, 1e9) }] : [];
    });
    const fault = { kind: random.weighted(Object.entries(rates.faults)), seed: random.integer(0, 1e9) };
    const runs = random.weighted<Moment['runs']>([
      [['orders', 'reviews'], 10],
      [['reviews'], 3],
      [['orders'], 3],
      [['orders', 'orders'], 1],
      [['orders', 'reconcile'], 0.5],
      [['catalog', 'orders'], 1],
      [['worker'], 0.5],
      [['serve'], 1],
      [['serve', 'reviews'], 0.7],
      [['backfill orders'], 0.5],
      [['backfill reviews'], 0.3],
      [['backfill orders', 'orders'], 0.2],
      [[], 2],
    ]);
    return { hour, events, runs, ...(random.chance(0.4) && { fault }) };
  });
}

/** A day in 2024. A short simulation usually has a change of the clocks in it, if the zone has any. */
function startOf(zone: string, dayCount: number, random: Random): Date {
  const first = Date.UTC(2024, 0, 1);
  const any = first + random.integer(0, 364) * dayMs;
  const changes = Array.from({ length: 364 }, (_, day) => first + day * dayMs).filter(
    (at) => offsetMs(zone, at) !== offsetMs(zone, at + dayMs),
  );
  const near =
    dayCount < 60 && changes.length > 0 && random.chance(0.7)
      ? random.pick(changes) - random.integer(1, Math.max(1, dayCount - 3)) * dayMs
      : any;
  return new Date(near - offsetMs(zone, near));
}

/** How far the clocks of the zone are ahead of UTC, in milliseconds. */
export function offsetMs(zone: string, atMs: number): number {
  const text = new Date(atMs).toLocaleString('sv', { timeZone: zone });
  return Date.parse(`${text.replace(' ', 'T')}Z`) - Math.floor(atMs / 1000) * 1000;
}

/** All that happens in the plan, apart from the runs. */
export function happenings({ days }: Plan): Happening[] {
  return days.flatMap((day) => [
    ...(day.isOffline ? [{ kind: 'offline', seed: day.number }] : []),
    ...day.moments.flatMap(({ events, fault }) => [...events, ...(fault ? [fault] : [])]),
  ]);
}
