import { expect, test } from 'vitest';
import { reviewDeps } from '../../src/app/deps.ts';
import { secondOf } from '../../src/base/time/span.ts';
import { concludeSyncReviews, planSyncReviews } from '../../src/reviews/plan/plan-sync-reviews.ts';
import { readWindow } from '../../src/reviews/read/read-window.ts';
import { seedReviews } from '../../src/sandbox/reference-service/seed.ts';
import { coveredSpans } from '../../src/warehouse/reviews/export-windows.ts';
import { openGap, openGaps } from '../../src/warehouse/reviews/open-gaps.ts';
import { readCursor } from '../../src/warehouse/runs/cursors.ts';
import { runCli } from '../harness/cli.ts';
import { type ProxiedRequest, startRuleProxy } from '../harness/proxy.ts';
import { openWorld, type World } from '../harness/world.ts';

const hour = 3_600_000;
const review = (message: string, at: Date) => ({ product_code: 'P', message, created_at: at, updated_at: at });
/** The service refuses these lists of reviews. */
const refusing = (is: (request: ProxiedRequest) => boolean) => (request: ProxiedRequest) =>
  request.path === '/v1/reviews' && !request.form.has('date_order_desc') && is(request) ? { status: 403 } : 'pass';
const ago = (hours: number) => new Date(Date.now() - hours * hour);

test('a backfill that goes on where one was interrupted leaves the gaps open that the interrupted one had read before', async () => {
  await using world = await openWorld({ shop: 'empty', environment: { REVIEW_OVERLAP_MINUTES: '0' } });
  await seedReviews(world.serviceDatabaseUrl, [review('old', ago(60 * 24)), review('new', ago(5))]);
  expect(await runCli(['sync', 'reviews'], world.environment)).toMatchObject({ status: 0 });

  // A backfill reads the older window; the newer one fails.
  const proxy = await startRuleProxy(world.serviceUrl);
  const throughProxy = { ...world.environment, REVIEW_API_BASE_URL: proxy.url };
  const timeOf = (form: URLSearchParams, name: string) => form.get(name) ?? '';
  const newer = ago(35 * 24)
    .toISOString()
    .slice(0, 10);
  proxy.use(refusing(({ form }) => timeOf(form, 'start_datetime') > newer));
  expect(await runCli(['backfill', 'reviews'], throughProxy)).toMatchObject({ status: 1 });

  // The older review is edited, and the sync that should read the edit is refused: an open gap.
  await world.atService(
    `update reference_service.reviews set message = 'edited', updated_at = now() - interval '3 hours' where message = 'old'`,
  );
  await seedReviews(world.serviceDatabaseUrl, [review('newest', ago(1))]);
  const local = (at: Date) => at.toLocaleString('sv-SE', { timeZone: 'Asia/Seoul' });
  proxy.use(
    refusing(
      ({ form }) =>
        form.has('date_updated_at') &&
        timeOf(form, 'start_datetime') <= local(ago(2.9)) &&
        timeOf(form, 'end_datetime') >= local(ago(3.1)),
    ),
  );
  expect(await runCli(['sync', 'reviews'], throughProxy)).toMatchObject({ status: 1 });
  const gaps = `select start_at, end_at, kind, axis from sync.open_gaps where axis = 'updated' and start_at <= now() - interval '3 hours' and end_at > now() - interval '3 hours 10 seconds'`;
  expect(await world.warehouse(gaps)).toHaveLength(1);

  expect(await runCli(['backfill', 'reviews'], world.environment)).toMatchObject({ status: 0 });
  expect(await runCli(['sync', 'reviews'], world.environment)).toMatchObject({ status: 0 });
  await proxy.close();
  expect(await world.warehouse(`select message from warehouse.reviews order by created_at limit 1`)).toEqual([
    { message: 'edited' },
  ]);
});

/** Two reviews are in the warehouse, and then the service refused every list of one run. */
async function worldAfterRefusals(): Promise<World> {
  const world = await openWorld({ shop: 'empty' });
  await seedReviews(world.serviceDatabaseUrl, [review('old', ago(60 * 24)), review('new', ago(5))]);
  expect(await runCli(['sync', 'reviews'], world.environment)).toMatchObject({ status: 0 });
  const proxy = await startRuleProxy(world.serviceUrl);
  proxy.use(refusing(() => true));
  const refused = await runCli(['sync', 'reviews'], { ...world.environment, REVIEW_API_BASE_URL: proxy.url });
  expect(refused).toMatchObject({ status: 1 });
  await proxy.close();
  return world;
}

test('after a burst of refusals, or clocks that were set back, the next scheduled run reads what is written from then on', async () => {
  await using world = await worldAfterRefusals();
  const app = await world.openApp();
  for (const aheadDays of [0, 3]) {
    await world.warehouse(`update sync.settings set reviews_cursor = reviews_cursor
      || jsonb_build_object('at', (reviews_cursor ->> 'at')::timestamptz + interval '${aheadDays} days')`);
    const plan = await planSyncReviews(reviewDeps(app, app.abort.signal), { overlapMinutes: 60, allGaps: false });
    const now = Date.now() / 1000;
    expect(plan.windows.filter(({ span }) => span.start <= now && span.end > now)).not.toEqual([]);
  }
});

test('a scheduled run leaves out a gap that is not due, although it lies in the overlap', async () => {
  await using world = await worldAfterRefusals();
  const gaps = await world.warehouse<{ start: number; end: number }>(
    `select extract(epoch from start_at)::integer as start, extract(epoch from end_at)::integer as end
     from sync.open_gaps where axis = 'updated'`,
  );
  expect(gaps).not.toEqual([]);
  // However long ago it was found: the last attempt counts.
  await world.warehouse(`update sync.open_gaps set first_seen_at = now() - interval '7 days'`);
  const app = await world.openApp();
  const plan = await planSyncReviews(reviewDeps(app, app.abort.signal), { overlapMinutes: 60, allGaps: false });
  const isWithinGap = ({ start, end }: { start: number; end: number }) =>
    gaps.some((gap) => gap.start < end && start < gap.end);
  expect(plan.windows.filter(({ span }) => isWithinGap(span))).toEqual([]);
});

test('where a step failed, its updates are a gap before the cursor moves, although one of creations lies at the same time', async () => {
  await using world = await openWorld({ shop: 'empty' });
  const { db } = (await world.openApp()).warehouse;
  const readTo = secondOf(new Date());
  const span = { start: readTo - 7200, end: readTo - 3600 };
  await openGap(db, 'created', { span, kind: 'failed', reason: 'the service failed' });
  const plan = { windows: [{ axis: 'updated' as const, span }], readTo, nextWatermark: readTo, nextStart: readTo };
  await world.warehouse(`alter table sync.open_gaps add constraint broken check (axis = 'created')`);
  await expect(concludeSyncReviews(db, 'a run', plan, 'its step failed')).rejects.toThrow('broken');
  expect(await readCursor(db, 'reviews')).toBeUndefined();
  await world.warehouse('alter table sync.open_gaps drop constraint broken');
  await concludeSyncReviews(db, 'a run', plan, 'its step failed');
  expect(await openGaps(db)).toMatchObject([
    { axis: 'created', span },
    { axis: 'updated', span, reason: 'its step failed' },
  ]);
});

test('a run that one machine plans and another one reads, whose clock is behind, leaves no gap', async () => {
  await using world = await openWorld({ shop: 'empty' });
  await seedReviews(world.serviceDatabaseUrl, [review('old', ago(60 * 24)), review('new', ago(5))]);
  expect(await runCli(['sync', 'reviews'], world.environment)).toMatchObject({ status: 0 });
  const deps = reviewDeps(await world.openApp(), AbortSignal.timeout(60_000));
  const ahead = { ...deps, now: () => new Date(Date.now() + 5000) };
  const plan = await planSyncReviews(ahead, { overlapMinutes: 60, allGaps: false });
  for (const window of plan.windows) await readWindow(deps, { runId: 'a run', window });
  // A step that is tried again reads only what is not proven.
  for (const window of plan.windows)
    expect(await readWindow(deps, { runId: 'a run', window })).toMatchObject({ reviews: 0 });
  await concludeSyncReviews(deps.warehouse.db, 'a run', plan, 'it was not read to its end');
  expect(await openGaps(deps.warehouse.db)).toEqual([]);
});

test('the minute before a reading does not count as read, nor does the next run rely on it: a review of then may not be listed yet', async () => {
  await using world = await openWorld({ shop: 'empty' });
  const now = new Date();
  await seedReviews(world.serviceDatabaseUrl, [review('just now', now)]);
  const deps = { ...reviewDeps(await world.openApp(), AbortSignal.timeout(60_000)), now: () => now };
  // A review of after that, which a webhook has brought, is not suspected gone.
  await world.warehouse(`insert into warehouse.reviews (id, created_at, updated_at)
    select 9, now() + interval '1 hour', now()`);
  const [start, end] = [secondOf(now) - 3600, secondOf(now) + 86_400];
  await readWindow(deps, { runId: 'a run', window: { axis: 'created', span: { start, end } }, findAbsent: true });
  const [reading] = await world.warehouse<{ at: Date }>('select started_at as at from sync.export_windows');
  expect(await coveredSpans(deps.warehouse.db, 'created')).toEqual([{ start, end: secondOf(reading?.at ?? now) - 60 }]);
  expect(await world.warehouse('select from sync.absent_reviews')).toEqual([]);
  const plan = await planSyncReviews(deps, { overlapMinutes: 0, allGaps: false });
  expect(plan).toMatchObject({ readTo: secondOf(now), nextWatermark: secondOf(now) - 60 });
});
