import { expect } from 'vitest';
import { rescanOrders } from '../../jobs/rescan-orders.ts';
import { syncOrders } from '../../jobs/sync-orders.ts';
import { enqueueOnly, type RunRequest } from '../../src/cli/ui/run-to-end.ts';
import { startHere } from '../harness/cli.ts';
import { runEnded } from '../harness/each-queue.ts';
import { orderTest as test } from '../harness/order-test.ts';
import { order } from '../harness/shop-orders.ts';
import { noSchedules } from '../harness/world.ts';

test('a run that a command starts mails and deletes by the settings of the command, though a worker does its steps', async ({
  openWorld,
}) => {
  const world = await openWorld();
  const ofWorker = { ORDER_CONTACT_MAX_AGE_DAYS: '30', ORDER_DELETES: 'send' };
  const worker = startHere(['worker'], { ...world.environment, ...noSchedules, ...ofWorker, LOG_LEVEL: 'info' });
  await worker.says('worker ready');
  Object.assign(world.environment, { ORDER_CONTACT_MAX_AGE_DAYS: '0', ORDER_DELETES: 'off' });
  const app = await world.openApp();
  const run = async (job: RunRequest['job']) => {
    const { json } = await enqueueOnly(app, { job, payload: {} });
    expect(await runEnded(app.queues, (json as { run: string }).run)).toMatchObject({ report: { outcome: 'done' } });
    return world.atService('select code, user_email from reference_service.orders');
  };
  await world.place(order('A', { user_email: 'a@example.com' }));
  expect(await run(syncOrders)).toEqual([{ code: 'A', user_email: null }]);
  await world.shop('update o set deleted_at = now(), updated_at = now()');
  expect(await run(syncOrders)).toHaveLength(1);
  // Gone from the shop, too, for longer than a day.
  await world.shop('delete from o');
  await world.warehouse(`update sync.order_links set absent_since = now() - interval '2 days'`);
  expect(await run(rescanOrders)).toHaveLength(1);
});
