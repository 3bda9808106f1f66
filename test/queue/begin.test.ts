import { expect, vi } from 'vitest';
import { backfillReviews } from '../../jobs/backfill-reviews.ts';
import { rescanOrders } from '../../jobs/rescan-orders.ts';
import { syncCatalog } from '../../jobs/sync-catalog.ts';
import { syncOrders } from '../../jobs/sync-orders.ts';
import { syncReviews } from '../../jobs/sync-reviews.ts';
import { differingSystems, ownRights, systemsOf } from '../../src/app/run-rights.ts';
import type { AnyRunJob } from '../../src/runs/define-run.ts';
import { type Following, runToEnd } from '../../src/runs/run-to-end.ts';
import { startDueRun, startRun } from '../../src/runs/start-run.ts';
import { startWorker } from '../../src/runs/start-worker.ts';
import { beginRun, findRun, finishRun, openRuns } from '../../src/warehouse/runs/runs.ts';
import { until } from '../harness/cli.ts';
import { openTestDueTaker } from '../harness/queues.ts';
import { worldTest as test } from '../harness/world.ts';

/** An open run: how long ago it began and was last attended, in minutes, and what else is special about it. */
type Open = {
  by?: 'schedule' | 'command';
  job?: string;
  began?: number;
  attended?: number;
  zone?: string;
  shop?: string;
  isLost?: true;
  /** How far the clock of the machine that starts a run is ahead, in minutes. */
  clock?: number;
};
const elsewhere = { zone: 'UTC', attended: 2 };
/** `beside`: the run starts; `waits`: it does not; otherwise it starts, and this is the end of the open one. */
const rows: [what: string, open: Open, due: string, command: string][] = [
  ['the same job, of the schedule', {}, 'waits', 'beside'],
  ['the same job, of a command', { by: 'command' }, 'waits', 'beside'],
  ['another job, of the schedule', { job: 'sync-reviews' }, 'beside', 'beside'],
  ['another job, of a command', { by: 'command', job: 'backfill-orders' }, 'beside', 'beside'],
  ['the queue has lost its job', { isLost: true }, 'failed', 'failed'],
  ['the queue has lost the job of a command', { by: 'command', isLost: true }, 'failed', 'failed'],
  ['the queue has lost its job, and somebody continues it', { isLost: true, attended: 0 }, 'failed', 'beside'],
  ['another job that the queue has lost', { job: 'sync-reviews', isLost: true }, 'failed', 'failed'],
  ['nobody continues it, of another zone', elsewhere, 'abandoned', 'beside'],
  ['such a run of a command', { ...elsewhere, by: 'command' }, 'abandoned', 'beside'],
  ['such a run of another job', { ...elsewhere, job: 'sync-reviews' }, 'beside', 'beside'],
  ['of another shop', { shop: 'another', attended: 2 }, 'abandoned', 'beside'],
  ['of another zone, and somebody continues it', { zone: 'UTC', attended: 0 }, 'waits', 'beside'],
  ['of another zone, and it has just begun', { zone: 'UTC', began: 0.8 }, 'waits', 'beside'],
  ['of another zone, and nobody has begun it', { zone: 'UTC', began: 1.2 }, 'abandoned', 'beside'],
  ['nobody continues it, and this process may', { attended: 2 }, 'waits', 'beside'],
  ['the own clock is hours behind', { clock: -120 }, 'waits', 'beside'],
];

test('a run starts beside an open one, instead of it, or not at all', async ({ world }) => {
  const app = await world.openApp();
  const { queues, config } = app;
  for (const [what, open, ...expected] of rows) {
    const { by = 'schedule', job = 'sync-orders', began = 1, attended = null, isLost = false, clock = 0 } = open;
    const systems = {
      ...systemsOf(config),
      ...(open.zone && { timeZone: open.zone }),
      ...(open.shop && { shop: open.shop }),
    };
    const now = () => new Date(Date.now() + clock * 60_000);
    for (const [n, starter] of ['due', 'command'].entries()) {
      await world.warehouse('delete from sync.runs');
      const row = { id: 'open', job, startedBy: by, rights: ownRights(config, 'sync'), systems };
      await beginRun(app.warehouse.db, row);
      const ago = `now() - interval '1 minute' *`;
      await world.warehouse(`update sync.runs set started_at = ${ago} $1, attended_at = ${ago} $2`, [began, attended]);
      await (isLost ? queues.drop('open') : queues.add(job, 'open'));
      const start = () => startDueRun({ ...app, now }, syncOrders, 'due');
      const id =
        starter === 'due' ? await start().then(() => 'due') : (await startRun({ ...app, now }, { job: syncOrders })).id;
      const { outcome, error } = (await findRun(app.warehouse.db, 'open')) ?? {};
      const isStarted = (await findRun(app.warehouse.db, id)) !== undefined;
      expect([what, starter, outcome ?? (isStarted ? 'beside' : 'waits')]).toEqual([what, starter, expected[n]]);
      if (outcome) expect([what, isStarted]).toEqual([what, true]);
      if (outcome === 'failed') expect(error).toContain('run it again');
      if (isStarted) {
        expect(await queues.isAlive(id)).toBe(true);
        await queues.drop(id);
      }
    }
  }
});

test('a moment that comes twice leaves its open run; after an ended one comes another', async ({ world }) => {
  const app = await world.openApp();
  const { config } = app;
  const others = { orderContactMaxAgeDays: 0, orderDeletes: 'send', api: { ...config.api, timeZone: 'UTC' } } as const;
  const changed = { ...app, config: { ...config, ...others } };
  const rows = () => world.warehouse<{ id: string; outcome: string }>('select id, outcome from sync.runs order by id');
  const runAs = (settings: typeof config) => ({
    rights: ownRights(settings, 'sync'),
    systems: systemsOf(settings),
  });
  for (const starter of [app, changed]) await startDueRun(starter, syncOrders, 'due');
  expect(await rows()).toEqual([{ id: 'due', outcome: null }]);
  expect(await findRun(app.warehouse.db, 'due')).toMatchObject(runAs(config));
  await finishRun(app.warehouse.db, 'due', { outcome: 'done' });
  await startDueRun(changed, syncOrders, 'due');
  // Spans that the first run recorded in the coverage ledger do not count for the second one.
  const [, { id } = { id: '' }] = await rows();
  expect(await rows()).toEqual([
    { id: 'due', outcome: 'done' },
    { id: expect.stringMatching(/^due-/), outcome: null },
  ]);
  expect(await findRun(app.warehouse.db, id)).toMatchObject(runAs(changed.config));
  expect(await app.queues.isAlive(id)).toBe(true);
  await startDueRun(changed, syncOrders, 'due');
  expect(await rows()).toHaveLength(2);
  // The queue has lost the open run of the moment.
  await startDueRun(app, syncCatalog, 'lost');
  await app.queues.drop('lost');
  await startDueRun(app, syncCatalog, 'lost');
  expect(await world.warehouse(`select outcome from sync.runs where id like 'lost%' order by id`)).toEqual([
    { outcome: 'failed' },
    { outcome: null },
  ]);
});

test('a run that reads no shop is of no shop: another address of one is no difference', async ({ world }) => {
  const app = await world.openApp();
  const { shop } = app.config;
  const elsewhere = { ...app, config: { ...app.config, shop: { ...shop, url: 'postgres://elsewhere/shop' } } };
  const differing = async (job: AnyRunJob) => {
    await startDueRun(app, job, job.name);
    const run = await findRun(app.warehouse.db, job.name);
    return run && differingSystems(run.systems, systemsOf(elsewhere.config)).map(({ name }) => name);
  };
  expect(await differing(syncOrders)).toEqual(['shop']);
  expect(await differing(syncReviews)).toEqual([]);
});

test('a command joins the open run of its key, unless that is of another zone', async ({ world }) => {
  const app = await world.openApp();
  const { api } = app.config;
  const elsewhere = { ...app, config: { ...app.config, api: { ...api, timeZone: 'UTC' } } };
  const request = { job: backfillReviews, key: 'all days' };
  const { id } = await startRun(app, request);
  const added = vi.spyOn(app.queues, 'add');
  expect(await startRun(app, request)).toEqual({ id, joined: true });
  // Nothing is left in the queue of the run that it would have begun.
  expect(await app.queues.isAlive(added.mock.lastCall?.[1] ?? id)).toBe(false);
  await expect(startRun(elsewhere, request)).rejects.toThrow('REVIEW_API_TIME_ZONE is UTC here');
});

test('a run of which steps failed names three of the reasons, and keeps its end', async ({ world }) => {
  const app = await world.openApp();
  // A warehouse that was restored meanwhile lacks what this process has stored in it.
  app.warehouse.knownProducts.set('a code', 1);
  const { id } = await startRun(app, { job: syncCatalog });
  const run = await findRun(app.warehouse.db, id);
  if (!run) throw new Error('the run has no row');
  await syncCatalog.plan(app, run, app.abort.signal);
  expect(app.warehouse.knownProducts.size).toBe(0);
  // A dead letter beside failed steps is not the reason: the next run must repeat the steps.
  await world.warehouse(
    `insert into sync.dead_letters (kind, key, reason, payload) values ('category', 'c', 'r', '{}')`,
  );
  const end = { state: {}, results: [{ categories: 2 }, { categories: 3 }], failures: ['a', 'a', 'b', 'c', 'd'] };
  const error =
    '5 of 7 steps failed; the next run repeats them: a; b; c. ' +
    '1 record could not be synced; see them with: review-sync dead-letters';
  const report = { outcome: 'incomplete', reason: 'steps-failed', counts: { categories: 5 }, error };
  expect(await syncCatalog.conclude(app, run, end, app.abort.signal)).toEqual(report);
  await finishRun(app.warehouse.db, id, { outcome: 'failed', error: 'the queue was lost after that' });
  expect(await world.warehouse('select outcome, reason, counts, error from sync.runs')).toEqual([report]);
  // Nor is a problem, such as removals that are held back.
  await world.warehouse(`update sync.dead_letters set kind = 'order', payload = '{"removals_held": 2}'`);
  const oneFailed = { ...end, failures: ['a'] };
  expect(await rescanOrders.conclude(app, run, oneFailed, app.abort.signal)).toMatchObject({
    reason: 'steps-failed',
    error: expect.stringMatching(/^2 removals .* 1 of 3 steps failed/),
  });
});

const following = (signal: AbortSignal): Following => ({ onProgress() {}, onRetry() {}, signal });

test('a command that is stopped before it starts its run, as between two, starts none', async ({ world }) => {
  const running = runToEnd(await world.openApp(), { job: syncOrders }, following(AbortSignal.abort()));
  await expect(running).rejects.toThrow('Interrupted.');
  expect(await world.warehouse('select from sync.runs')).toEqual([]);
});

/** A run without steps. */
const nothing: typeof syncCatalog = { ...syncCatalog, plan: async () => ({ state: {}, steps: [] }) };

test('a command leaves what is due to workers', async ({ world }) => {
  const app = await world.openApp();
  const { scheduled } = app.queues;
  await scheduled.add('sync-orders', {});
  const end = await runToEnd(app, { job: nothing }, following(new AbortController().signal));
  expect(end).toMatchObject({ outcome: 'done' });
  expect(await scheduled.getJobCounts('waiting')).toEqual({ waiting: 1 });
});

test('of several brands, a run waits for a seat, a regular one for any, and gives it back', async ({ world }) => {
  const app = await world.openApp();
  const due = openTestDueTaker();
  for (const priority of [1, 10]) {
    const job = { ...nothing, priority };
    const { id } = await startRun(app, { job });
    const asked: boolean[] = [];
    let left = 0;
    const take = (_runs: number, isLive: boolean) => asked.push(isLive) > 1;
    const seats = { take, leave: () => void left++ };
    const worker = await startWorker(app, [job], [], { shared: { seats, due } });
    await until(async () => left > 0);
    await worker.close();
    expect([asked, left]).toEqual([[priority === 1, priority === 1], 1]);
    expect(await findRun(app.warehouse.db, id)).toMatchObject({ outcome: 'done' });
  }
  await due.close();
});

test('a command that gets no response to its beginning leaves no open run', async ({ world }) => {
  const app = await world.openApp();
  const { db } = app.warehouse;
  const isBegun = async () => (await world.warehouse('select from sync.runs')).length > 0;
  for (const isBack of [true, false]) {
    await world.warehouse('delete from sync.runs');
    let lost = 0;
    const losing = db.withPlugin({
      transformQuery: ({ node }) => node,
      async transformResult({ result }) {
        if (!(await isBegun()) || (isBack && lost > 0)) return result;
        lost += 1;
        throw new Error(`connection ${lost} is lost`);
      },
    });
    const start = startRun({ ...app, warehouse: { ...app.warehouse, db: losing } }, { job: syncOrders });
    await expect(start).rejects.toThrow(isBack ? /^connection 1 is lost/ : /may have begun.* runs end sync-orders-/);
    expect(await openRuns(db)).toEqual([]);
  }
});
