import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import type { App } from '../../src/app/app.ts';
import { reviewDeps } from '../../src/app/deps.ts';
import { isWithin, secondOf } from '../../src/base/time/span.ts';
import { NotFoundError, RefusedError, type ReviewApi, UnavailableError } from '../../src/review-api/index.ts';
import { planSyncReviews } from '../../src/reviews/plan/plan-sync-reviews.ts';
import { concludeReconcile, planReconcile } from '../../src/reviews/plan/reconcile.ts';
import { captureOverview } from '../../src/reviews/plan/review-bounds.ts';
import { confirmDeleted, retryOpenRefused, untilDown } from '../../src/reviews/refresh/refresh-review.ts';
import { verifyReviews } from '../../src/reviews/verify/verify-reviews.ts';
import { countAbsent } from '../../src/warehouse/reviews/absent-reviews.ts';
import { openGap } from '../../src/warehouse/reviews/coverage.ts';
import { openWorld, reviewAt, syncHourly, type World } from '../harness/world.ts';

let world: World;
let app: App;
beforeAll(async () => {
  world = await openWorld();
  app = await world.openApp();
});
afterAll(() => world[Symbol.asyncDispose]());
beforeEach(async () => {
  await world.atService('truncate reference_service.reviews restart identity cascade');
  await world.warehouse(`truncate warehouse.reviews, warehouse.review_overview, sync.absent_reviews, sync.dead_letters,
    sync.export_windows, sync.open_gaps, sync.runs restart identity cascade`);
  await world.warehouse('update sync.settings set reviews_cursor = null');
});

const deleted = 'select from warehouse.reviews where deleted_at is not null';
const at = (status: number, id?: number) => ({ method: 'GET', path: `/v1/reviews/${id}`, status });

/** The parts that read reviews, with a client that has some methods replaced. */
function depsWith(change: (reviews: ReviewApi['reviews']) => Partial<ReviewApi['reviews']> = () => ({})) {
  const deps = { ...reviewDeps(app, app.abort.signal), onProgress: () => {} };
  return { ...deps, reviews: { ...deps.reviews, ...change(deps.reviews) } };
}
/** So many reviews that no list shows, from this id on. */
const absentFrom = (id: number, length: number) =>
  Array.from({ length }, (_, n) => ({ id: id + n, createdAt: new Date() }));

const quietly = { mark: true, show: async () => {} };

test('a reconcile that is stopped while it asks about reviews does not end as done', async () => {
  await syncHourly(world, 3);
  await world.warehouse(`insert into sync.absent_reviews (review_id, run_id) values (1, 'reconcile')`);
  const deps = reviewDeps(app, AbortSignal.abort());
  await expect(concludeReconcile(deps, { recentDays: 45, allDays: 30 })).rejects.toThrow('aborted');
});

test('a service that lost more than half is not believed, however few are asked for', async () => {
  await syncHourly(world, 60);
  const deps = depsWith();
  const afterLossUpTo = async (id: number, askedAtMost: number) => {
    await world.atService(`delete from reference_service.reviews where id <= ${id}`);
    await world.warehouse(`insert into sync.absent_reviews (review_id, run_id)
      select id, 'reconcile' from warehouse.reviews where id <= ${id} and deleted_at is null`);
    return concludeReconcile(deps, { recentDays: 45, allDays: 30, askedAtMost });
  };
  expect(await afterLossUpTo(30, 30)).toMatchObject({ counts: { deleted: 30 }, problem: '' });
  expect(await afterLossUpTo(55, 22)).toMatchObject({
    problem: expect.stringContaining('The service has lost some 25 of 30 reviews'),
  });
  expect(await world.warehouse(deleted)).toHaveLength(30);
  // A person obeys the message: nothing is suspected any more.
  await world.warehouse('delete from warehouse.reviews where id <= 55');
  const after = await concludeReconcile(deps, { recentDays: 45, allDays: 30 });
  expect(after).toMatchObject({ counts: { deleted: 0 }, problem: '' });
  expect(await countAbsent(deps.warehouse.db)).toBe(0);
});

test('a reconcile of a service that shows no listed review by its id marks none as deleted', async () => {
  await syncHourly(world, 4);
  await world.warehouse(`insert into sync.absent_reviews (review_id, run_id) values (1, 'reconcile')`);
  const deps = depsWith(() => ({ getRaw: (id) => Promise.reject(new NotFoundError(at(404, id))) }));
  expect(await concludeReconcile(deps, { recentDays: 45, allDays: 30 })).toMatchObject({
    counts: { deleted: 0 },
    problem: expect.stringContaining('answers 404 for the ids of other reviews'),
  });
});

test('a reconcile asks for what was lately marked deleted, and closes old failures and gaps', async () => {
  await syncHourly(world, 4);
  // Its reviews were read by their creation since.
  await world.warehouse(`insert into sync.open_gaps (axis, start_at, end_at, kind, reason, first_seen_at)
    values ('updated', now() - interval '5 hours', now() - interval '4 hours', 'failed', 'r', now() - interval '1 hour')`);
  // Without an id they can only be seen in a list.
  await world.warehouse(`insert into sync.dead_letters (kind, key, reason, payload, last_failed_at)
    select 'review', 'no id, ' || n, 'refused', '{}', now() - n * interval '1 day' from unnest(array[30.9, 31.1]) n`);
  // 29, 31, 44 and 46 days ago: before and after RECONCILE_ALL_DAYS, before and after RECONCILE_DAYS.
  await world.warehouse(`update warehouse.reviews
    set deleted_at = now() - (array[29, 31, 44, 46])[id] * interval '1 day'`);
  const deps = depsWith();
  await concludeReconcile(deps, { recentDays: 45, allDays: 30 });
  expect(await world.warehouse('select id::integer from warehouse.reviews where deleted_at is not null')).toEqual([
    { id: 4 },
  ]);
  const open = await world.warehouse('select key from sync.dead_letters where resolved_at is null');
  expect(open).toEqual([{ key: 'no id, 30.9' }]);
  expect(await world.warehouse('select from sync.open_gaps')).toEqual([]);
});

test('verify asks about so many reviews that no list shows, and says there are more', async () => {
  await syncHourly(world, 12);
  await world.atService('delete from reference_service.reviews where id <= 5');
  // In all windows together.
  await world.warehouse(`update warehouse.reviews set created_at = created_at - interval '100 days' where id <= 2`);
  const deps = depsWith();
  const report = await verifyReviews({ ...deps, askedAtMost: 3 }, {}, { repair: true });
  expect(report.problems).toEqual([expect.stringContaining('5 reviews are in no list, and only 3 were asked about')]);
  expect(report).toMatchObject({ differing: 3, repaired: false });
  expect(await world.warehouse(deleted)).toHaveLength(3);
  const rest = await verifyReviews({ ...deps, askedAtMost: 3 }, {}, { repair: true });
  expect(rest).toMatchObject({ differing: 2, repaired: true, problems: [] });
});

test('verify says what it could not read, and does not call both sides repaired', async () => {
  await syncHourly(world, 3);
  const deps = depsWith(({ page }) => ({
    page: (params, ...more) => (params.limit === 1 ? page(params, ...more) : Promise.reject(new RefusedError(at(403)))),
  }));
  const problems = [expect.stringContaining('cannot be read')];
  const report = await verifyReviews(deps, {}, { repair: true });
  expect(report).toMatchObject({ differing: 0, repaired: false, problems });
});

test('verify names what it repaired, also in a list read twice, and what still differs', async () => {
  // A list of a round length is read twice.
  await syncHourly(world, 10);
  const repaired = async () => verifyReviews(depsWith(), {}, { repair: true });
  await world.warehouse('delete from warehouse.reviews where id > 7');
  expect(await repaired()).toMatchObject({ missing: 3, differing: 3, repaired: true, problems: [] });
  await world.warehouse(`
    create function keep() returns trigger language plpgsql as $$ begin new.message = old.message; return new; end $$;
    create trigger keep before update on warehouse.reviews for each row execute function keep()`);
  await world.atService(`update reference_service.reviews set message = 'corrected' where id = 2`);
  const left = { stale: 1, differing: 1, unrepairable: 1, repaired: false, problems: [] };
  expect(await repaired()).toMatchObject(left);
  await world.warehouse('drop function keep() cascade');
});

test('a review of the second in which one window ends and the next begins counts once', async () => {
  // Sixty days are two windows of thirty.
  await world.seedReviews([reviewAt(new Date('2026-01-31T00:00:00+09:00'))]);
  await world.warehouse(`insert into warehouse.reviews (id, created_at, updated_at) values (9, '2026-03-02', now())`);
  const progress: number[][] = [];
  const deps = { ...depsWith(), onProgress: (...done: number[]) => void progress.push(done) };
  const report = await verifyReviews(deps, { from: '2026-01-01', to: '2026-03-01' }, { repair: false });
  const differences = [{ id: 1, kind: 'missing', fields: [], day: '2026-01-31' }];
  expect(report).toMatchObject({ service: 1, warehouse: 0, missing: 1, differences, problems: [] });
  expect(progress.flat()).toEqual([1, 2, 2, 2]);
});

test('verify compares all that the overview names, also if lists begin with the oldest', async () => {
  const daily = [1, 2, 3].map((days) => reviewAt(Date.now() - days * 86_400_000));
  await world.seedReviews(daily);
  const deps = depsWith(({ page }) => ({
    page: (params, ...more) => page({ ...params, date_order_desc: false }, ...more),
  }));
  // The review that is gone is found last, and listed by its day.
  await world.warehouse(
    `insert into warehouse.reviews (id, created_at, updated_at) values (9, now() - interval '4 days', now())`,
  );
  const report = await verifyReviews(deps, {}, { repair: false });
  expect(report).toMatchObject({ missing: 3, extra: 1, problems: [] });
  expect(report.differences.map(({ kind }) => kind)).toEqual(['extra', 'missing', 'missing', 'missing']);
});

test('refused reviews are asked for, oldest attempt first, until twenty in a row fail', async () => {
  await world.warehouse(`insert into sync.dead_letters (kind, key, reason, payload, last_failed_at)
    select 'review', n::text, 'refused', '{}', now() - n * interval '1 hour' from generate_series(1, 40) n`);
  const asked: number[] = [];
  const deps = depsWith(() => ({
    async getRaw(id) {
      asked.push(id);
      throw new UnavailableError(at(500, id));
    },
  }));
  await retryOpenRefused(deps, { areDueOnly: false, runStartedAt: new Date() });
  expect(asked).toEqual(Array.from(asked, (_, index) => 40 - index));
  // Four are asked for at a time: up to three are on their way when the twentieth fails.
  expect([20, 21, 22, 23]).toContain(asked.length);
  const again = `select from sync.dead_letters where attempts = 2 and last_failed_at > now() - interval '30 minutes'
    and reason like '%status 500%' and resolved_at is null`;
  expect(await world.warehouse(again)).toHaveLength(asked.length);
});

test('an overview without dates is kept: an older one names no review any more', async () => {
  await captureOverview(depsWith());
  const kept = 'select first_review_created_at as first, last_review_created_at as last from warehouse.review_overview';
  expect(await world.warehouse(kept)).toEqual([{ first: null, last: null }]);
});

test('a review that failed in this run is not asked for by it', async () => {
  await world.warehouse(`insert into sync.dead_letters (kind, key, reason, payload, last_failed_at)
    select 'review', n::text, 'refused', '{}', now() - (3 - n) * interval '1 hour' from generate_series(1, 3) n`);
  const getRaw = vi.fn((id: number) => Promise.reject(new UnavailableError(at(500, id))));
  const runStartedAt = new Date(Date.now() - 60_000);
  await retryOpenRefused(
    depsWith(() => ({ getRaw })),
    { areDueOnly: false, runStartedAt },
  );
  expect(getRaw.mock.calls.map(([id]) => id)).toEqual([1, 2]);
});

test('a dead letter is asked for although the newest reviews are gone', async () => {
  await world.warehouse(`insert into warehouse.reviews (id, created_at, updated_at)
    select n, now() - (9 - n) * interval '1 hour', now() from generate_series(2, 4) n`);
  await world.warehouse(`insert into sync.dead_letters (kind, key, reason, payload, last_failed_at)
    values ('review', '1', 'refused', '{}', now() - interval '1 hour')`);
  const deps = depsWith(() => ({
    async getRaw(id) {
      if (id !== 1) throw new NotFoundError(at(404, id));
      const item = { id, created_at: '2026-01-01T00:00:00Z', updated_at: '2026-01-01T00:00:00Z' };
      return { rawBody: Buffer.from(JSON.stringify(item)), item };
    },
  }));
  await retryOpenRefused(deps, { areDueOnly: false, runStartedAt: new Date() });
  expect(await world.warehouse('select from sync.dead_letters where resolved_at is null')).toEqual([]);
});

test('one that is gone, or lands, ends a row of failures', async () => {
  const asked: number[] = [];
  await untilDown(Array.from(Array(60).keys()), async (one) => {
    asked.push(one);
    return one === 15 ? 'landed' : one === 30 ? 'gone' : 'failed';
  });
  expect([51, 52, 53, 54]).toContain(asked.length);
});

test('a service that forgets what it lists, at any of three looks, has lost nothing', async () => {
  for (const forgetsAt of [1, 2, 3]) {
    let looks = 0;
    const deps = depsWith(() => ({
      async getRaw(id) {
        if (id === 1) looks += 1;
        if (id !== 1 || looks >= forgetsAt) throw new NotFoundError(at(404, id));
        return { rawBody: Buffer.from('{"id":1}'), item: { id } };
      },
    }));
    const options = { ...quietly, suspected: 1, others: [1] };
    const problems = [expect.stringContaining('answers 404 for the ids of other reviews')];
    expect(await confirmDeleted(deps, absentFrom(2, 1), options)).toMatchObject({ gone: [], problems });
    expect(looks).toBe(forgetsAt);
  }
});

test('twenty reviews that are gone are believed, more only up to half of all', async () => {
  const deps = depsWith(() => ({ getRaw: (id) => Promise.reject(new NotFoundError(at(404, id))) }));
  for (const [held, lost, marked] of [
    [5, 5, 5],
    [30, 20, 20],
    [40, 21, 0],
    [42, 21, 21],
    [30, 30, 0],
  ] as const) {
    await world.warehouse('truncate warehouse.reviews');
    await world.warehouse(`insert into warehouse.reviews (id, created_at, updated_at)
      select n, now(), now() from generate_series(1, ${held}) n`);
    await confirmDeleted(deps, absentFrom(1, lost), { ...quietly, suspected: lost, others: [] });
    expect([held, lost, (await world.warehouse(deleted)).length]).toEqual([held, lost, marked]);
  }
});

test('the next run begins at the newest update, a minute to thirty days back', async () => {
  const now = new Date();
  const deps = { ...depsWith(), now: () => now };
  const day = 86_400;
  // How long ago the newest update was, in seconds.
  for (const [ago, behind] of [
    [undefined, 30 * day],
    [31 * day, 30 * day],
    [10 * day, 10 * day],
    [5, 60],
  ] as const) {
    await world.atService('truncate reference_service.reviews cascade');
    if (ago) await world.seedReviews([reviewAt((secondOf(now) - ago) * 1000)]);
    const { readTo, nextWatermark } = await planSyncReviews(deps, { overlapMinutes: 60, allGaps: false });
    expect([ago, readTo, nextWatermark]).toEqual([ago, secondOf(now), secondOf(now) - behind]);
  }
});

test('a reconcile reads the newest days and each gap once, and all once a month', async () => {
  const deps = depsWith();
  // A backfill has read all of it, too.
  await world.warehouse(`
    insert into sync.runs (id, job, started_by, started_at)
    values ('earlier', 'reconcile', 'schedule', now()), ('other', 'backfill', 'command', now());
    insert into sync.export_windows (axis, start_at, end_at, run_id, pages, reviews, requests, started_at, finished_at)
    select 'created', now() - interval '2 years', now(), id, 1, 0, 1, now(), now() from sync.runs`);
  const at = (daysAgo: number) => secondOf(deps.now()) - daysAgo * 86_400;
  for (const days of [100, 10]) {
    const span = { start: at(days), end: at(days) + 3600 };
    await openGap(deps.warehouse.db, 'created', { span, kind: 'failed', reason: 'r' });
  }
  // The gaps, and an hour before each; the limit of the newest days.
  const seconds = [at(100) + 60, at(100) - 3600, at(10) + 60, at(10) - 3600, at(46), at(44)];
  for (const [readDaysAgo, readings] of [
    [29, [1, 0, 1, 1, 0, 1]],
    [31, [1, 1, 1, 1, 1, 1]],
  ] as const) {
    const readAt = `started_at = now() - interval '${readDaysAgo} days'`;
    await world.warehouse(`update sync.export_windows set ${readAt} where run_id = 'earlier'`);
    const planned = await planReconcile(deps, { job: 'reconcile', recentDays: 45, allDays: 30 });
    expect(seconds.map((second) => planned.filter(({ span }) => isWithin(second, span)).length)).toEqual(readings);
  }
});
