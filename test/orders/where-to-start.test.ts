import { expect } from 'vitest';
import { backfillOrders } from '../../jobs/backfill-orders.ts';
import { syncOrders } from '../../jobs/sync-orders.ts';
import type { OrderDeps } from '../../src/orders/order-deps.ts';
import {
  type ChangedState,
  concludeChangedOrders,
  nextChangedOrders,
  planChangedOrders,
} from '../../src/orders/select/changed-orders.ts';
import type { AnyRunJob } from '../../src/runs/define-run.ts';
import type { Shop } from '../../src/shop/index.ts';
import { advanceCursor, readCursor } from '../../src/warehouse/runs/cursors.ts';
import { order, orderShopQueries, orders, orderTest as test, writeQueries } from '../harness/order-world.ts';
import { daysAgo, runJob } from '../harness/world.ts';

const options = { lookbackMinutes: 10, batchSize: 1, isAnyTime: false };

/** The day of the shop’s clock, its time, the cursor and the start on the first of March. */
const starts = [
  ['at the beginning without a cursor', '01T12:05', undefined, undefined],
  ['at the cursor minus the lookback', '01T12:05', '11:58:00.123456Z', '11:48:00.123Z'],
  ['there however long ago the last run was', '09T23:00', '11:58:00Z', '11:48:00.000Z'],
  ['at the shop’s clock minus the lookback, where that was set back', '01T11:05', '11:58:00Z', '10:55:00.000Z'],
] as const;

test('a run starts at the cursor, or at the clock of the shop, minus the lookback', async ({ world }) => {
  const { shop, warehouse } = await world.openApp();
  for (const [what, time, cursorTime, startTime] of starts) {
    const [shopNow, cursor] = [`2026-03-${time}:00Z`, `2026-03-01T${cursorTime}`];
    const start = startTime === undefined ? '-infinity' : `2026-03-01T${startTime}`;
    await world.warehouse('update sync.settings set orders_cursor = null');
    if (cursorTime) await advanceCursor(warehouse.db, 'orders', { at: cursor, readTo: cursor });
    const asked: string[] = [];
    const watched: Shop = {
      ...shop,
      now: async () => shopNow,
      orderCodes(range) {
        asked.push(range.after.at);
        return shop.orderCodes(range);
      },
    };
    await planChangedOrders({ shop: watched, db: warehouse.db }, options);
    expect([what, asked]).toEqual([what, [start]]);
  }
});

/** All that a run reads, in batches of this size, and its last state. */
async function readAll(deps: Pick<OrderDeps, 'shop' | 'db'>, batchSize: number) {
  const at = { ...options, batchSize };
  const codes: string[] = [];
  let state: ChangedState | undefined;
  let batch: Awaited<ReturnType<typeof nextChangedOrders>> = await planChangedOrders(deps, at);
  for (; batch !== undefined; batch = await nextChangedOrders(deps, batch.state, at)) {
    codes.push(...batch.codes);
    state = batch.state;
  }
  return { codes, state: state as ChangedState };
}

test('the cursor goes to the newest change of all pages, at the end of the run', async ({ world }) => {
  const { shop, warehouse } = await world.openApp();
  const deps = { shop, db: warehouse.db };
  await world.place(...[3, 1, 2].map((days) => order(`O${days}`, { updated_at: daysAgo(days) })));
  // Orders that are due follow the changes, and move no cursor.
  await world.warehouse(`insert into sync.order_links (order_code, due_at) values ('D', now() - interval '1 hour')`);
  const { codes, state } = await readAll(deps, 1);
  expect([codes, await readCursor(deps.db, 'orders')]).toEqual([['O3', 'O2', 'O1', 'D'], undefined]);
  await concludeChangedOrders(deps, state);
  const [newest] = await world.shop<{ at: Date }>('select max(updated_at) as at from o');
  const { at = '' } = (await readCursor(deps.db, 'orders')) ?? {};
  expect(new Date(at)).toEqual(newest?.at);
});

test('an empty shop leaves no cursor, so that the orders of the right one are read', async ({ openWorld }) => {
  const changed_orders = 'select code, updated_at as changed_at from o where updated_at >= :since';
  const world = await openWorld({ environment: { SHOP_SQL_DIR: await orderShopQueries({ changed_orders }) } });
  expect(await world.run('sync-orders')).toMatchObject({ outcome: 'done' });
  await world.place(order('OLD', { created_at: daysAgo(100), updated_at: daysAgo(100) }));
  expect(await world.run('sync-orders')).toMatchObject({ counts: { orders_pushed: 1 } });
});

test('a walk over all orders is not done if the shop is empty at its end', async ({ openWorld }) => {
  const changed_orders = 'select code, updated_at as changed_at from o where updated_at >= :since';
  const SHOP_SQL_DIR = await orderShopQueries({ changed_orders });
  const world = await openWorld({ environment: { SHOP_SQL_DIR, ORDER_BATCH_SIZE: '1' } });
  await world.place(order('A'), order('B'));
  for (const job of [syncOrders, backfillOrders]) {
    let batches = 0;
    const next: AnyRunJob['next'] = async (...at) => {
      if (batches++ === 0) await world.shop('create table kept as table o; delete from o');
      return job.next?.(...at);
    };
    const end = await runJob(await world.openApp(), { ...job, next });
    expect([job.name, end]).toMatchObject([job.name, { error: expect.stringContaining('looks like another shop') }]);
    await world.shop('insert into o select * from kept; drop table kept');
  }
  expect(await world.run('backfill-orders')).toMatchObject({ outcome: 'done', counts: { orders_pushed: 1 } });
});

/** Dates of changes that the clock has not reached, and the feed that shows them. */
const ahead = [
  ['in 2099', undefined],
  [
    'infinity, or after the year 9999',
    `select code, case when code > 'O30' then 'infinity' when code > 'O15' then '12000-01-01' else updated_at end::timestamptz as changed_at
     from o where :since is not null`,
  ],
  [
    'at the end of their day',
    `select code, updated_at::date + interval '1 day' as changed_at from o where updated_at >= :since::timestamptz - interval '1 day'`,
  ],
  [
    'by a clock that moves',
    `select code, clock_timestamp() + interval '1 hour' as changed_at from o where :since is not null`,
  ],
] as const;

test('changes dated ahead are all read, and the cursor stays at the second of the clock', async ({ openWorld }) => {
  const folder = await orderShopQueries();
  const world = await openWorld({ environment: { SHOP_TIME_ZONE: 'UTC', SHOP_SQL_DIR: folder } });
  await world.place(...orders(35));
  const { shop, warehouse } = await world.openApp();
  const deps = { shop, db: warehouse.db };
  const yesterday = new Date(Date.now() - 86_400_000).toISOString();
  for (const [what, feed] of ahead) {
    await world.warehouse('update sync.settings set orders_cursor = null');
    await advanceCursor(warehouse.db, 'orders', { at: yesterday, readTo: yesterday });
    await world.shop(`update o set updated_at = now()`);
    // The page in which the future begins shows the last codes: the lower ones must still come.
    const late = `timestamptz '2099-12-31' - substr(code, 2)::integer * interval '1 day'`;
    if (feed === undefined) await world.shop(`update o set updated_at = ${late} where code > 'O15'`);
    else await writeQueries(folder, { changed_orders: feed });
    const { codes, state } = await readAll(deps, 10);
    expect([what, new Set(codes).size]).toEqual([what, 35]);
    await concludeChangedOrders(deps, state);
    const { at = '' } = (await readCursor(warehouse.db, 'orders')) ?? {};
    expect([what, at]).toEqual([what, `${state.shopNow.slice(0, 19)}.000Z`]);
  }
});

test('a run without a change leaves the cursor where it is, and says when it looked', async ({ world }) => {
  const { shop, warehouse } = await world.openApp();
  const deps = { shop, db: warehouse.db };
  const cursor = { at: '2026-03-01T11:00:00Z', readTo: '2026-03-01T11:05:00Z' };
  await advanceCursor(warehouse.db, 'orders', cursor);
  const { state } = await planChangedOrders(deps, options);
  await concludeChangedOrders(deps, state);
  expect(await readCursor(warehouse.db, 'orders')).toEqual({ at: cursor.at, readTo: state.startedAt });
});
