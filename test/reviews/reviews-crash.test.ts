import { afterAll, expect, test } from 'vitest';
import { planBackfillReviews } from '../../src/reviews/plan/plan-backfill-reviews.ts';
import { concludeSyncReviews, planSyncReviews, type SyncPlan } from '../../src/reviews/plan/plan-sync-reviews.ts';
import { readWindow } from '../../src/reviews/read/read-window.ts';
import type { Window } from '../../src/reviews/read/window.ts';
import type { ReviewDeps } from '../../src/reviews/review-deps.ts';
import { type ReferenceService, startReferenceService } from '../../src/sandbox/reference-service/index.ts';
import { type SeedReview, seedReviews } from '../../src/sandbox/reference-service/seed.ts';
import { createDatabase, queryAgain } from '../harness/database.ts';
import { alive, type Calls } from '../harness/deadly-pool.ts';
import { inExportProcess } from '../harness/export-process.ts';
import { type FaultMode, startFaultProxy } from '../harness/proxy.ts';
import { sampled } from '../harness/sampled.ts';

/** Zone of the service: periods in requests read as they are. */
const timeZone = 'UTC';
const now = Date.parse('2026-07-01T00:00:00Z');
const [hour, day] = [3_600_000, 86_400_000];

/** 650 reviews of sixty days: two windows of four pages. 120 of them lie in one second. */
const reviews: SeedReview[] = Array.from({ length: 650 }, (_, index) => {
  const isCrowded = index >= 200 && index < 320;
  const at = isCrowded ? now - 47 * day + ((index * 7) % 1000) : now - 60 * day + index * 2.2 * hour + (index % 1000);
  return {
    // New products come up on every page.
    ...{
      product_code: `P${Math.floor(index / 30)}`,
      message: `review ${index}`,
      score: [null, 1, 5][index % 3] ?? null,
    },
    created_at: new Date(at),
    updated_at: new Date(at),
    images_count: index % 2,
  };
});
/** What happens until the later run: 280 are edited, again 120 in one second; 20 are added. */
const edits = `
  update reference_service.reviews set message = 'edited',
    updated_at = timestamptz '2026-07-01T00:10:00Z' + case
      when id % 5 < 2 then make_interval(secs => id * 60) else interval '5 hours' + make_interval(secs => id * 0.001) end
  where id % 5 < 2 and id <= 400 or id % 5 = 3 and id <= 600;
  insert into reference_service.reviews (created_at, updated_at, message)
  select at, at, 'new' from generate_series(timestamptz '2026-07-01', '2026-07-01T19:00Z', '1 hour') at`;

/** A run as the queue keeps it: whatever dies, it begins again with the same id, and what was planned stays planned. */
type Run = { id: string; since: Date; planned?: SyncPlan };

const steps = async (deps: ReviewDeps, { id }: Run, windows: readonly Window[]) => {
  for (const window of windows) await readWindow(deps, { runId: id, window });
};
const planning = (deps: ReviewDeps) => ({ ...deps, now: () => new Date(now) });

/** Killed, it is planned again: what the ledger has is in none of the windows. */
async function backfill(deps: ReviewDeps, run: Run): Promise<void> {
  await steps(deps, run, await planBackfillReviews(planning(deps), {}, { since: run.since }));
}

/** Killed, its windows are those that were planned: what the ledger has is left out when they are read. */
async function sync(deps: ReviewDeps, run: Run): Promise<void> {
  run.planned ??= await planSyncReviews(planning(deps), { overlapMinutes: 60, allGaps: true });
  await steps(deps, run, run.planned.windows);
  await concludeSyncReviews(deps.warehouse.db, run.id, run.planned, 'failed');
}

type Flow = typeof sync;
type World = { service: ReferenceService; warehouse: string; reviews: string };

const open: World[] = [];
afterAll(async () => {
  for (const { service } of open) await service.close();
});

/** Where nothing was read yet. */
const fresh = () => openWorld(now, reviews);
/** Where a first run is over, and a day has passed. */
const synced = () =>
  openWorld(now + day, reviews, async (serviceDatabase, warehouse) => {
    const first = await startReferenceService({ databaseUrl: serviceDatabase, timeZone, now: () => new Date(now) });
    const place = { warehouse, service: first.url, timeZone };
    await inExportProcess(place, (deps) => sync(deps, { id: 'first', since: new Date(0) }));
    await first.close();
    await queryAgain(serviceDatabase, edits);
  });
/** Where a page does not land as a whole. */
const refusing = () =>
  openWorld(now, reviews.slice(0, 4), (_, warehouse) =>
    queryAgain(warehouse, `alter table warehouse.reviews add check (message <> 'review 2')`),
  );

async function openWorld(
  clock: number,
  seed: readonly SeedReview[],
  prepare?: (serviceDatabase: string, warehouse: string) => Promise<unknown>,
): Promise<World> {
  const [databaseUrl, warehouse] = [await createDatabase('service'), await createDatabase('migrated')];
  await seedReviews(databaseUrl, seed);
  await prepare?.(databaseUrl, warehouse);
  for (const table of tables) await queryAgain(warehouse, `create table ${keptAs(table)} as table ${table}`);
  const [held] = await queryAgain<{ all: string }>(
    databaseUrl,
    `select json_agg(json_build_object('id', id, 'created', created_at, 'updated', updated_at))::text as all
     from reference_service.reviews`,
  );
  const service = await startReferenceService({ databaseUrl, timeZone, now: () => new Date(clock) });
  const world = { service, warehouse, reviews: held?.all ?? '' };
  open.push(world);
  return world;
}

const tables = [
  ...['warehouse.reviews', 'warehouse.review_overview', 'sync.export_windows', 'sync.settings', 'sync.product_links'],
  ...['sync.dead_letters', 'sync.absent_reviews', 'sync.open_gaps'],
];
const keptAs = (table: string) => `public.${table.replace('.', '_')}`;
/** Back to what was there when the world was opened: faster than a new database. */
const reset = [
  'truncate warehouse.reviews',
  ...tables.filter((table) => table !== 'warehouse.reviews').map((table) => `delete from ${table}`),
  ...tables.map((table) => `insert into ${table} overriding system value table ${keptAs(table)}`),
].join(';');

/**
 * What is in the warehouse, given the service's reviews and the run. `bytes` is the whole table, the times of writing
 * aside. `claimed_in_vain` are reviews of spans that the ledger calls read, and that are not there as the service has
 * them, nor among the dead letters.
 */
const stateSql = `
  with claimed as (
    select s.*, w.axis, w.start_at, w.end_at
    from json_to_recordset($1) s (id bigint, created timestamptz, updated timestamptz)
    cross join lateral (values ('created', s.created), ('updated', s.updated)) d (axis, date)
    join sync.export_windows w on w.axis = d.axis and d.date >= w.start_at and d.date < w.end_at and w.run_id = $2
  )
  select
    (select count(*)::integer from warehouse.reviews) as reviews,
    (select md5(string_agg((to_jsonb(r) - 'first_seen_at' - 'synced_at')::text, ' ' order by id)) from warehouse.reviews r)
      as bytes,
    (select reviews_cursor from sync.settings) as cursor,
    (select jsonb_agg(concat_ws(' ', product_code, product_id) order by product_code) from sync.product_links) as products,
    (select jsonb_agg(key order by key) from sync.dead_letters where resolved_at is null) as deadLetters,
    (
      select coalesce(jsonb_agg(array[extract(epoch from lower(span)), extract(epoch from upper(span))]), '[]')
      from (select unnest(range_agg(tstzrange(start_at, end_at))) as span from sync.export_windows where run_id = $2) s
    ) as covered,
    (select coalesce(sum(requests), 0)::integer from sync.export_windows where run_id = $2) as requests,
    (
      select coalesce(jsonb_agg(claimed), '[]') from claimed
      where not exists (select from warehouse.reviews r where r.id = claimed.id and r.updated_at = claimed.updated)
        and not exists (select from sync.dead_letters l where l.key = claimed.id::text and l.resolved_at is null)
    ) as claimed_in_vain`;

type State = {
  /** What two runs must end in alike. */
  reviews: number;
  bytes: string;
  cursor: unknown;
  products: unknown;
  deadLetters: unknown;
  covered: [start: number, end: number][];
  /** Of the pages in the ledger. */
  requests: number;
  claimed_in_vain: unknown[];
};

type Recovered = {
  end: Omit<State, 'requests'>;
  claimedInVain: unknown[];
  /** The cursor had moved, and rows were missing. */
  isCursorAhead: boolean;
  /** Requests after the death for what the ledger had. */
  readTwice: string[];
  /** Requests that the ledger had, and those after the death. */
  requests: { before: number; after: number };
};

/**
 * Strikes once, looks at what is there, runs again undisturbed, and looks at what that read and left. The review model
 * judges what both did.
 */
async function strikeAndRecover(
  world: World,
  flow: Flow,
  strike: (struck: Strike) => Promise<void>,
): Promise<Recovered> {
  const { warehouse, service } = world;
  const run: Run = { id: 'run', since: new Date() };
  const look = async () => (await queryAgain<State>(warehouse, stateSql, [world.reviews, run.id]))[0] as State;
  await queryAgain(warehouse, reset);
  const work = (deps: ReviewDeps) => flow(deps, run);
  await strike((serviceUrl, calls) => inExportProcess({ warehouse, service: serviceUrl, timeZone, calls }, work));
  const death = await look();
  const between = await startFaultProxy(service.url);
  await inExportProcess({ warehouse, service: between.url, timeZone }, work);
  await between.close();
  const { requests: _, ...end } = await look();
  const asked = between.asked().filter((path) => path.startsWith('/v1/reviews?'));
  const isSameCursor = JSON.stringify(death.cursor) === JSON.stringify(end.cursor);
  return {
    end,
    claimedInVain: death.claimed_in_vain,
    isCursorAhead: end.cursor !== null && isSameCursor && death.bytes !== end.bytes,
    // What plans a run looks at the newest review alone.
    readTwice: asked.filter((path) => !path.includes('limit=1&') && isCovered(death.covered, path)),
    requests: { before: death.requests, after: asked.length },
  };
}

type Strike = (serviceUrl: string, calls: Calls) => Promise<void>;

/** Whether a request reaches into what was read. Neighbours share their boundary second. */
function isCovered(covered: State['covered'], path: string): boolean {
  const params = new URL(path, 'http://localhost').searchParams;
  const [from, to] = ['start', 'end'].map((name) => Date.parse(`${params.get(`${name}_datetime`)}Z`) / 1000);
  if (!from || !to) throw new Error(`no period in ${path}`);
  return covered.some(([start, end]) => Math.max(start, from) < Math.min(end, to));
}

/** What must hold after any death, given what the undisturbed run left and read. */
function expectRecovered(struck: Recovered, undisturbed: Recovered, strike: object): void {
  const { requests, ...rest } = struck;
  const whole = { end: undisturbed.end, claimedInVain: [], isCursorAhead: false, readTwice: [] };
  expect({ ...strike, ...rest }).toEqual({ ...strike, ...whole });
  const extra = requests.before + requests.after - undisturbed.requests.before;
  // The spans in flight are read again: none of the two windows has more than eight requests, and planning has three.
  expect(extra, JSON.stringify(strike)).toBeLessThanOrEqual(19);
}

// Side by side, each in a world of its own: they wait for Postgres most of the time.
test.concurrent.each([
  ['a backfill', fresh, backfill],
  ['a later sync', synced, sync],
  ['an export with a record that the warehouse refuses', refusing, sync],
] as const)(
  '%s killed before or after any statement: the next run ends in the same table',
  { timeout: 900_000 },
  async (_, openIts, flow) => {
    const world = await openIts();
    const counting = alive();
    const undisturbed = await strikeAndRecover(world, flow, (run) => run(world.service.url, counting));
    expectRecovered(undisturbed, undisturbed, {});
    expect(counting.total).toBeGreaterThan(10);
    const deaths = numbers(counting.total).flatMap((at) =>
      (['before', 'after'] as const).map((when) => ({ at, when })),
    );
    for (const die of sampled(deaths, 3)) {
      const calls = { ...alive(), die };
      const struck = await strikeAndRecover(world, flow, (run) => run(world.service.url, calls));
      expect(calls.isDead).toBe(true);
      expectRecovered(struck, undisturbed, die);
    }
  },
);

const numbers = (count: number) => Array.from({ length: count }, (_, index) => index + 1);

/** The process ends at that moment, or goes on with a connection that broke. */
const faults: readonly [FaultMode, boolean][] = [
  ['before', true],
  ['after', true],
  ['lost', true],
  ['lost', false],
];

test.concurrent.each([
  ['a first sync', fresh, sync],
  ['a later sync', synced, sync],
] as const)(
  '%s killed before, after or without the answer of any request: the next run ends in the same table',
  { timeout: 900_000 },
  async (_, openIts, flow) => {
    const world = await openIts();
    const between = await startFaultProxy(world.service.url);
    const undisturbed = await strikeAndRecover(world, flow, (run) => run(between.url, alive()));
    expectRecovered(undisturbed, undisturbed, {});
    const total = between.calls();
    expect(total).toBeGreaterThan(8);
    const strikes = numbers(total).flatMap((n) => faults.map(([mode, dies]) => ({ n, mode, dies })));
    for (const { n, mode, dies } of sampled(strikes, 3)) {
      const calls = alive();
      between.strike(n, mode, () => {
        calls.isDead = dies;
      });
      const struck = await strikeAndRecover(world, flow, (run) => run(between.url, calls));
      expect(between.calls()).toBeGreaterThanOrEqual(n);
      expectRecovered(struck, undisturbed, { n, mode, dies });
    }
    await between.close();
  },
);
