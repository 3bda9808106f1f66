import { expect } from 'vitest';
import { rescanOrders } from '../../jobs/rescan-orders.ts';
import { syncOrders } from '../../jobs/sync-orders.ts';
import { type RunRequest, startRun } from '../../src/runs/start-run.ts';
import { findRun } from '../../src/warehouse/runs/runs.ts';
import { startHere } from '../harness/cli.ts';
import { orderTest as test } from '../harness/order-test.ts';
import { order } from '../harness/shop-orders.ts';
import { noSchedules, until } from '../harness/world.ts';

const may = { ORDER_CONTACT_MAX_AGE_DAYS: '30', ORDER_DELETES: 'send' };
const mayNot = { ORDER_CONTACT_MAX_AGE_DAYS: '0', ORDER_DELETES: 'off' };

test.for<[who: string, how: string, ofCommand: typeof may, ofWorker: typeof may]>([
  ['command and worker', 'does both', may, may],
  ['only its command', 'does neither', may, mayNot],
  ['only its worker', 'does neither', mayNot, may],
])('if the settings of %s allow mails and deletions, a run %s', async ([, how, ofCommand, ofWorker], { openWorld }) => {
  const does = how === 'does both';
  const world = await openWorld();
  const worker = startHere(['worker'], { ...world.environment, ...noSchedules, ...ofWorker, LOG_LEVEL: 'info' });
  await worker.says('worker ready');
  Object.assign(world.environment, ofCommand);
  const app = await world.openApp();
  const run = async (job: RunRequest['job']) => {
    const { id } = await startRun(app, { job });
    expect(await until(async () => (await findRun(app.warehouse.db, id))?.outcome ?? false)).toBe('done');
    return world.atService<{ code: string; user_email: string | null }>(
      'select code, user_email from reference_service.orders order by 1',
    );
  };
  const codes = async (job: RunRequest['job']) => (await run(job)).map(({ code }) => code);
  await world.place(...['A', 'B', 'C'].map((code) => order(code, { user_email: `${code}@example.com` })));
  expect(await run(syncOrders)).toEqual(
    ['A', 'B', 'C'].map((code) => ({ code, user_email: does ? `${code}@example.com` : null })),
  );
  await world.shop(`update o set deleted_at = now(), updated_at = now() where code = 'A'`);
  expect(await codes(syncOrders)).toEqual(does ? ['B', 'C'] : ['A', 'B', 'C']);
  // Gone from the shop for longer than a day.
  await world.shop(`delete from o where code = 'B'`);
  await world.warehouse(`update sync.order_links set absent_since = now() - interval '2 days' where order_code = 'B'`);
  expect(await codes(rescanOrders)).toEqual(does ? ['C'] : ['A', 'B', 'C']);
});
