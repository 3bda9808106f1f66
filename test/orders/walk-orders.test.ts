import { expect } from 'vitest';
import { type WalkState, walkOrders } from '../../src/orders/select/orders-by-day.ts';
import { order, orderTest as test } from '../harness/order-world.ts';

const hourMs = 3_600_000;
const hoursAgo = (hours: number) => new Date(Date.now() - hours * hourMs);
/** From three days ago on. */
const range = { start: Math.floor(hoursAgo(72).getTime() / 1000), end: undefined };
const absent = 'select order_code as code from sync.order_links where absent_since is not null order by 1';

test('a walk reads its orders once, and marks pushed ones that are gone', async ({ world }) => {
  const created = { OLD: 100, A: 70, B: 70, C: 40, D: 30, E: 20, F: 1 };
  const placed = Object.entries(created).map(([code, hours]) => order(code, { created_at: hoursAgo(hours) }));
  await world.place(...placed);
  await world.sync();
  // Two of one moment, the last of all, and one that is older than the range.
  await world.shop(`update o set created_at = (select created_at from o where code = 'A') where code = 'B';
    delete from o where code in ('B', 'D', 'F', 'OLD')`);
  // A page of orders without a usable date has no end: each page would begin with them.
  await world.shop(
    `insert into o (code, created_at) values ('X', 'infinity'), ('Y', 'infinity'), ('Z', '12000-01-01')`,
  );
  const { shop, warehouse } = await world.openApp();
  const walk = async (over: Parameters<typeof walkOrders>[1] = range, pageSize = 2) => {
    const read: string[][] = [];
    let state: WalkState = {};
    do {
      const batch = await walkOrders({ shop, db: warehouse.db }, over, pageSize, state);
      read.push(batch.codes);
      state = batch.state;
    } while (state.next !== undefined && read.length < 9);
    return read;
  };
  // A walk over some days says nothing of the orders after them.
  const aDayAgo = Math.floor(hoursAgo(24).getTime() / 1000);
  expect((await walk({ ...range, end: aDayAgo })).flat()).toEqual(['A', 'C']);
  expect(await world.warehouse(absent)).toEqual([{ code: 'B' }, { code: 'D' }]);
  expect((await walk()).flat()).toEqual(['A', 'C', 'E']);
  expect(await world.warehouse(absent)).toEqual([{ code: 'B' }, { code: 'D' }, { code: 'F' }]);

  // An order that is shown again is no longer absent. If an order's date changed, it is looked up before it counts as
  // absent.
  await world.shop(`update o set created_at = created_at - interval '1 year' where code = 'C'`);
  await world.place(order('D', { created_at: hoursAgo(30) }));
  expect((await walk()).flat()).toEqual(['A', 'D', 'E']);
  expect(await world.warehouse(absent)).toEqual([{ code: 'B' }, { code: 'F' }]);

  // A walk over all orders goes by code, and marks those that are gone before, between and behind the others.
  await world.shop(`delete from o where code = 'A' or code > 'D'`);
  await walk({ start: undefined, end: undefined }, 1);
  expect(await world.warehouse(absent)).toEqual(['A', 'B', 'E', 'F', 'OLD'].map((code) => ({ code })));
});

test('a backfill of a day goes from midnight to midnight in the zone of the service', async ({ openWorld }) => {
  const world = await openWorld({ environment: { ORDER_BATCH_SIZE: '1' } });
  const created = ['2026-01-01T14:59:59Z', '2026-01-01T15:00:00Z', '2026-01-02T14:59:59Z', '2026-01-02T15:00:00Z'];
  await world.place(...created.map((at) => order(at, { created_at: new Date(at) })));
  await world.run('backfill-orders', { from: '2026-01-02', to: '2026-01-02' });
  const codes = await world.atService<{ code: string }>('select code from reference_service.orders order by code');
  expect(codes.map(({ code }) => code)).toEqual(created.slice(1, 3));
});
