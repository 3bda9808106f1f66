import { expect } from 'vitest';
import { reviewDeps } from '../../src/app/deps.ts';
import { intersection, isWithin, secondOf } from '../../src/base/time/span.ts';
import { concludeSyncReviews, planSyncReviews } from '../../src/reviews/plan/plan-sync-reviews.ts';
import { readWindow } from '../../src/reviews/read/read-window.ts';
import { coveredSpans, openGap, openGaps } from '../../src/warehouse/reviews/coverage.ts';
import { readCursor } from '../../src/warehouse/runs/cursors.ts';
import { startRuleProxy } from '../harness/proxy.ts';
import { hourMs, reviewAt, worldTest as test, type World } from '../harness/world.ts';

const ago = (hours: number) => new Date(Date.now() - hours * hourMs);

/** Two reviews, of two months and of five hours ago, are in the warehouse. */
async function syncTwo(world: World): Promise<void> {
  await world.seedReviews([reviewAt(ago(60 * 24)), reviewAt(ago(5))]);
  expect(await world.run('sync-reviews')).toMatchObject({ outcome: 'done' });
}

test('a scheduled run leaves out gaps that are not due, and reads what is new', async ({ world }) => {
  await syncTwo(world);
  const proxy = await world.through(startRuleProxy);
  proxy.use(({ path, form }) => {
    return path === '/v1/reviews' && !form.has('date_order_desc') ? { status: 403 } : 'pass';
  });
  expect(await world.cli('sync', 'reviews')).toMatchObject({ status: 1 });
  const app = await world.openApp();
  const { db } = app.warehouse;
  const planned = async () => {
    const plan = await planSyncReviews(reviewDeps(app, app.abort.signal), { overlapMinutes: 60, allGaps: false });
    return plan.windows.map(({ span }) => span);
  };
  // However long ago a gap was found: the last attempt counts.
  await world.warehouse(`update sync.open_gaps set first_seen_at = now() - interval '7 days'`);
  const gaps = (await openGaps(db)).filter(({ axis }) => axis === 'updated');
  expect(gaps).not.toEqual([]);
  const spans = await planned();
  for (const { span } of gaps) expect(spans.filter((one) => intersection(one, span))).toEqual([]);
  // Reviews that are written from now on are read, even if clocks were set back.
  for (const aheadDays of [0, 3]) {
    await world.warehouse(`update sync.settings set reviews_cursor = reviews_cursor
      || jsonb_build_object('at', (reviews_cursor ->> 'at')::timestamptz + interval '${aheadDays} days')`);
    expect((await planned()).some((one) => isWithin(secondOf(new Date()), one))).toBe(true);
  }
  // A gap of creation dates says nothing of what was edited at that time.
  const now = secondOf(new Date());
  await openGap(db, 'created', { span: { start: now - 60, end: now + 60 }, kind: 'failed', reason: 'it failed' });
  expect((await planned()).some((one) => isWithin(now, one))).toBe(true);
});

test('updates of a failed step are a gap before the cursor moves', async ({ world }) => {
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

test('a run that another machine reads, whose clock is behind, leaves no gap', async ({ world }) => {
  await syncTwo(world);
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

test('the minute before a reading is not read: its reviews may not be listed yet', async ({ world }) => {
  const now = new Date();
  await world.seedReviews([reviewAt(now)]);
  const deps = { ...reviewDeps(await world.openApp(), AbortSignal.timeout(60_000)), now: () => now };
  // A review of after that, which a webhook has brought, is not suspected gone.
  await world.warehouse(`insert into warehouse.reviews (id, created_at, updated_at)
    select 9, now() + interval '1 hour', now()`);
  const [start, end] = [secondOf(now) - 3600, secondOf(now) + 86_400];
  await readWindow(deps, { runId: 'a run', window: { axis: 'created', span: { start, end } }, findAbsent: true });
  const [reading] = await world.warehouse<{ at: Date }>('select started_at as at from sync.export_windows');
  expect(await coveredSpans(deps.warehouse.db, 'created')).toEqual([{ start, end: secondOf(reading?.at ?? now) - 60 }]);
  expect(await world.warehouse('select from sync.absent_reviews')).toEqual([]);
});
