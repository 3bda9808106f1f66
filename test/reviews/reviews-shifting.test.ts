import { beforeAll, expect, test } from 'vitest';
import { type Span, secondOf } from '../../src/base/time/span.ts';
import { exportWindow } from '../../src/reviews/export-window.ts';
import { startReferenceService } from '../../src/sandbox/reference-service/index.ts';
import { type SeedReview, seedReviews } from '../../src/sandbox/reference-service/seed.ts';
import type { Axis } from '../../src/warehouse/schema.ts';
import { cloneDatabase, createDatabase, forgetDatabase, queryAgain } from '../harness/database.ts';
import { inExportProcess } from '../harness/export-process.ts';
import { startFaultProxy } from '../harness/proxy.ts';
import { sampled } from '../harness/sampled.ts';

const timeZone = 'UTC';
const first = new Date('2026-06-01T00:00:00Z');
const crowded = new Date('2026-06-11T00:00:00Z');
const now = new Date('2026-06-30T00:00:00Z');
/** As long as a sync reads: until a day ahead. */
const span: Span = { start: secondOf(first), end: secondOf(now) + 86_400 };

/** 250 reviews in one second, between 150 before and 150 after. */
const reviews: SeedReview[] = Array.from({ length: 550 }, (_, index) => {
  const begin = index < 150 ? first : crowded;
  const seconds = index < 150 ? index * 3600 : Math.max(0, index - 399) * 7200;
  const at = new Date(begin.getTime() + seconds * 1000 + (index % 900));
  return { product_code: 'P', message: 'stands', score: 5, created_at: at, updated_at: at };
});

/** Before the others of that second, whatever their milliseconds. */
const added = (count: number, at: Date) => `
  insert into reference_service.reviews (created_at, updated_at, message)
  select timestamptz '${at.toISOString()}', timestamptz '${at.toISOString()}', 'added' from generate_series(1, ${count})`;
const firstOnes = (count: number, from: Date) =>
  `id in (select id from reference_service.reviews where created_at >= '${from.toISOString()}' order by created_at, id limit ${count})`;
const deleted = (count: number, from: Date) => `delete from reference_service.reviews where ${firstOnes(count, from)}`;
const edited = (count: number, from: Date) => `
  update reference_service.reviews set message = 'edited', updated_at = '${now.toISOString()}'
  where ${firstOnes(count, from)}`;
const endOfCrowd = new Date(crowded.getTime() + 999);

const changes = {
  'seven are deleted at the beginning': deleted(7, first),
  'seven are deleted at the beginning of a crowded second': deleted(7, crowded),
  'a crowded second loses half its reviews': deleted(130, crowded),
  'so many are added at the beginning that there is one more page': added(60, first),
  'so many are added at the beginning of a crowded second that it has one more page': added(60, crowded),
  'one is deleted at the beginning and one added in the middle': `${deleted(1, first)}; ${added(1, crowded)}`,
  'one is deleted at the beginning and one added at the end of a crowded second': `${deleted(1, crowded)}; ${added(1, endOfCrowd)}`,
  'seven are edited at the beginning': edited(7, first),
  'seven are edited at the beginning of a crowded second': edited(7, crowded),
};
const axes: readonly Axis[] = ['created', 'updated'];
const cases = axes
  .flatMap((axis) => Object.entries(changes).map(([name, change]) => ({ axis, name, change })))
  .map((one, index) => ({ ...one, index }));

/** Back to what was there before the change. */
const reset = `
  delete from reference_service.reviews;
  insert into reference_service.reviews overriding system value table public.before`;

/** The service with the reviews, which each test clones. */
let seeded: string;
beforeAll(async () => {
  seeded = await createDatabase('service');
  await seedReviews(seeded, reviews);
  await queryAgain(seeded, 'create table public.before as table reference_service.reviews');
  await forgetDatabase(seeded);
});

/** Requests of a reading that nothing disturbs; one test counts them for all. */
let total: Promise<number> | undefined;

// Side by side, each in a world of its own: they wait for Postgres most of the time.
test.concurrent.each(cases)(
  'on the $axis axis, when $name just before any request, what stood throughout is read',
  {
    timeout: 900_000,
  },
  async ({ axis, change, index }) => {
    const [databaseUrl, warehouse] = [await cloneDatabase(seeded), await createDatabase('migrated')];
    const service = await startReferenceService({ databaseUrl, timeZone, now: () => now });
    const between = await startFaultProxy(service.url);
    const read = (runId: string, window: Span) =>
      inExportProcess({ warehouse, service: between.url, timeZone }, async (deps) => {
        await exportWindow(deps, { runId, window: { axis, span: window } });
      });
    const held = async () => {
      const rows = await queryAgain<{ id: string; at: Date }>(
        warehouse,
        'select id, updated_at as at from warehouse.reviews',
      );
      return new Map(rows.map(({ id, at }) => [id, at.getTime()]));
    };

    const begin = async (requests: number, then: () => Promise<unknown>) => {
      await queryAgain(databaseUrl, reset);
      await queryAgain(
        warehouse,
        'truncate warehouse.reviews; delete from sync.export_windows; delete from sync.open_gaps',
      );
      between.changeBefore(requests, then);
      await read('first', span);
    };
    // Until the change both axes have the same dates, so the requests are the same.
    total ??= begin(Number.POSITIVE_INFINITY, async () => {}).then(() => between.calls());
    expect(await total).toBeGreaterThan(7);
    const numbers = Array.from({ length: await total }, (_, index) => index + 1);
    for (const requests of sampled(numbers, 2, index)) {
      let hasChanged = false;
      await begin(requests, async () => {
        hasChanged = true;
        await queryAgain(databaseUrl, change);
      });
      expect({ requests, hasChanged }).toEqual({ requests, hasChanged: true });
      const after = await held();
      const standing = await queryAgain<{ id: string; at: Date; moved: boolean }>(
        databaseUrl,
        `select id, r.updated_at as at, r.${axis}_at <> b.${axis}_at as moved
       from reference_service.reviews r join public.before b using (id)`,
      );
      const lost = standing.filter(({ id, moved }) => !moved && !after.has(id));
      const covered = await queryAgain(
        warehouse,
        `select extract(epoch from lower(s))::float as start, extract(epoch from upper(s))::float as end
       from (select unnest(range_agg(tstzrange(start_at, end_at))) as s from sync.export_windows) spans`,
      );
      expect({ requests, lost, covered }).toEqual({ requests, lost: [], covered: [span] });

      // What was edited behind the reading is found by the next one, which begins before this one.
      if (!standing.some(({ moved }) => moved)) continue;
      await read('next', { start: secondOf(now) - 3600, end: span.end });
      const next = await held();
      const stale = standing.filter(({ id, moved, at }) => moved && next.get(id) !== at.getTime());
      expect({ requests, stale }).toEqual({ requests, stale: [] });
    }
    await between.close();
    await service.close();
  },
);
