import { expect } from 'vitest';
import { syncCatalog } from '../../jobs/sync-catalog.ts';
import { syncOrders } from '../../jobs/sync-orders.ts';
import { type Following, runToEnd } from '../../src/runs/run-to-end.ts';
import { orderTest as test } from '../harness/order-world.ts';

const following = (signal: AbortSignal): Following => ({ onProgress() {}, onRetry() {}, signal });

test('a command that is stopped before it starts its run, as between two, starts none', async ({ world }) => {
  const app = await world.openApp();
  const running = runToEnd(app, { job: syncOrders }, following(AbortSignal.abort()));
  await expect(running).rejects.toThrow('Interrupted.');
  expect(await world.warehouse('select from sync.runs')).toEqual([]);
});

test('a command leaves what is due to workers', async ({ world }) => {
  const app = await world.openApp();
  const { scheduled } = app.queues;
  await scheduled.add('sync-orders', {});
  const end = await runToEnd(app, { job: syncCatalog }, following(new AbortController().signal));
  expect(end).toMatchObject({ outcome: 'done' });
  expect(await scheduled.getJobCounts('waiting')).toEqual({ waiting: 1 });
});
