import { expect } from 'vitest';
import type { PushPolicy } from '../../src/orders/order/desired-order.ts';
import { pushStep } from '../../src/orders/push/push-slice.ts';
import { isUnusual } from '../../src/orders/push/removal-guard.ts';
import { continueSyncOrders, planSyncOrders, type SyncBatch } from '../../src/orders/which/changed-orders.ts';
import { warehouseNow } from '../../src/warehouse/clock.ts';
import { holdRemovals, removalsHeld } from '../../src/warehouse/orders/order-removals.ts';
import { waitingCounts } from '../../src/warehouse/orders/order-revisits.ts';
import { runCli } from '../harness/cli.ts';
import { orderTest as test } from '../harness/order-test.ts';
import type { OrderWorld } from '../harness/order-world.ts';
import type { Fate } from '../harness/rule-proxy.ts';
import { orders } from '../harness/shop-orders.ts';
import { sliceDeps } from '../harness/sync-orders.ts';

/** Orders O1, O2 … with two lines each, pushed. @param lines how many order n has instead. */
async function pushOrders(world: OrderWorld, count: number, lines = (_n: number) => 2): Promise<void> {
  await world.place(...orders(count, lines));
  await world.sync();
}

const subOrders = 'select count(*)::integer as n from reference_service.sub_orders';
const touch = 'update o set updated_at = now()';

test('half of all lines gone at once removes nothing, says so, and removes them when asked to', async ({ world }) => {
  await pushOrders(world, 24);
  await world.shop(`delete from l where line_code = '2'; ${touch}`);
  const end = await runCli(['sync', 'orders', '--json'], world.environment);
  expect(end.status).toBe(1);
  // What is held back waits for a person, not for another run.
  const { counts } = JSON.parse(end.stdout) as { counts: Record<string, number> };
  expect(counts).toMatchObject({ orders_pushed: 24, removals_held: 24 });
  expect(counts).not.toHaveProperty('removals_waiting');
  expect(await world.atService(subOrders)).toEqual([{ n: 48 }]);
  expect((await world.openDeadLetters())[0]?.reason).toContain('--allow-removals');
  const allowed = await runCli(['sync', 'orders', '--allow-removals'], world.environment);
  expect(allowed).toMatchObject({ status: 0 });
  expect(await world.atService(subOrders)).toEqual([{ n: 24 }]);
  expect(await world.openDeadLetters()).toEqual([]);
});

test('an order that lost all of its lines keeps its sub-orders, and goes on once they are back', async ({ world }) => {
  await pushOrders(world, 2);
  await world.shop(`create table kept as select * from l; delete from l where order_code = 'O1'; ${touch}`);
  await world.sync();
  expect(await world.atService(subOrders)).toEqual([{ n: 4 }]);
  expect(await world.openDeadLetters()).toMatchObject([{ key: 'O1' }]);
  await world.shop(`insert into l select * from kept where order_code = 'O1'`);
  await world.sync();
  expect(await world.openDeadLetters()).toEqual([]);
  expect(await world.atService(subOrders)).toEqual([{ n: 4 }]);
});

test('one line of an order is removed without asking', async ({ world }) => {
  await pushOrders(world, 2);
  await world.shop(`delete from l where order_code = 'O1' and line_code = '2'; ${touch}`);
  await world.sync();
  expect(await world.atService(subOrders)).toEqual([{ n: 3 }]);
});

test('a deleted_at set everywhere deletes nothing until somebody says that it is right', async ({ world }) => {
  await pushOrders(world, 30);
  const orders = 'select count(*)::integer as n from reference_service.orders';
  await world.shop('update o set deleted_at = now(), updated_at = now()');
  await world.sync({ deletes: 'send' });
  expect(await world.atService(orders)).toEqual([{ n: 30 }]);
  expect(await world.openDeadLetters()).toHaveLength(30);
  await world.sync({ deletes: 'send', removals: 'all' });
  expect(await world.atService(orders)).toEqual([{ n: 0 }]);
  expect(await world.openDeadLetters()).toEqual([]);
});

test('an order whose deletion is allowed but that has reviews stays, and leaves no dead letter', async ({ world }) => {
  await pushOrders(world, 30);
  await world.shop('update o set deleted_at = now(), updated_at = now()');
  await world.sync({ deletes: 'send' });
  await world.atService(`insert into reference_service.reviews (created_at, updated_at, sub_order_id)
    select now(), now(), min(id) from reference_service.sub_orders`);
  await world.sync({ deletes: 'send', removals: 'all' });
  expect(await world.atService('select count(*)::integer as n from reference_service.orders')).toEqual([{ n: 1 }]);
  expect(await world.openDeadLetters()).toEqual([]);
});

test('an order of the service that two codes of the shop are linked to is not deleted with one of them', async ({
  world,
}) => {
  await pushOrders(world, 1);
  // The shop wrote the code otherwise, and the service took both for the same order.
  await world.warehouse(
    `insert into sync.order_links (order_code, order_id) select 'o1', order_id from sync.order_links`,
  );
  await world.shop('update o set deleted_at = now(), updated_at = now()');
  expect(await world.sync({ deletes: 'send' })).toMatchObject({ orders_deleted_kept: 1 });
  expect(await world.atService('select code from reference_service.orders')).toEqual([{ code: 'O1' }]);
});

test('one order that the service refuses to delete does not stop the others', async ({ world }) => {
  await pushOrders(world, 3);
  await world.shop('update o set deleted_at = now(), updated_at = now()');
  world.serviceRule(({ method, path }) => (method === 'DELETE' && path.endsWith('/2') ? { status: 500 } : 'pass'));
  await world.sync({ deletes: 'send' });
  expect(await world.atService('select code from reference_service.orders')).toHaveLength(1);
  expect(await world.openDeadLetters()).toHaveLength(1);
  world.serviceRule(() => 'pass');
  await world.sync({ deletes: 'send' });
  expect(await world.openDeadLetters()).toEqual([]);
});

test.for([
  ['reviews', 'reviews_count', 3],
  ['an unknown number of reviews', 'reviews_count', null],
  ['another code', 'code', 'SOMEBODY-ELSE'],
])('an order with %s is not deleted', async ([_, field, value], { world }) => {
  await pushOrders(world, 1);
  await world.shop('update o set deleted_at = now(), updated_at = now()');
  const subOrder = { id: 1, product_id: 1, reviews_count: field === 'reviews_count' ? value : 0 };
  const order = { id: 1, code: field === 'code' ? value : 'O1', sub_orders: [subOrder] };
  world.serviceRule(({ method }) => (method === 'GET' ? { status: 200, body: JSON.stringify(order) } : 'pass'));
  await world.sync({ deletes: 'send' });
  expect(world.requests().filter((one) => one.method === 'DELETE')).toEqual([]);
});

test('twenty removals of a run are always allowed, and beyond that one in a hundred orders that it read', () => {
  expect(isUnusual({ read: 20, removals: 20 })).toBe(false);
  expect(isUnusual({ read: 2000, removals: 21 })).toBe(true);
  expect(isUnusual({ read: 2100, removals: 21 })).toBe(false);
  expect(isUnusual({ read: 100_000, removals: 1000 })).toBe(false);
  expect(isUnusual({ read: 100_000, removals: 1001 })).toBe(true);
});

test('deletions and removed lines spread over many slices are counted together, and none is carried out unasked', async ({
  world,
}) => {
  await pushOrders(world, 250, (n) => ([11, 22, 33, 44].includes(n % 100) ? 2 : 1));
  const environment = { ...world.environment, ORDER_DELETES: 'send' };
  const state = `select count(distinct o.id)::integer as orders, count(s.id)::integer as lines
    from reference_service.orders o left join reference_service.sub_orders s on s.order_id = o.id`;
  // Of each slice of 200 orders at most 20.
  await world.shop(`update o set deleted_at = now() where right(code, 1) = '5' and length(code) > 2;
    delete from l where line_code = '2'`);
  const held = await runCli(['backfill', 'orders'], environment);
  expect(held.status).toBe(1);
  expect(held.stderr).toContain('dead-letters');
  expect(held.stderr + held.stdout).toContain('removals of orders and lines are held back');
  expect(held.stderr + held.stdout).toContain('--allow-removals');
  expect(await world.atService(state)).toEqual([{ orders: 250, lines: 262 }]);
  // Another run does not take the first twenty of them.
  await runCli(['sync', 'orders'], environment);
  await runCli(['sync', 'reconcile'], environment);
  expect(await world.atService(state)).toEqual([{ orders: 250, lines: 262 }]);
  expect((await world.openDeadLetters())[0]?.reason).toContain('--allow-removals');
  const allowed = await runCli(['sync', 'orders', '--allow-removals'], environment);
  expect(allowed).toMatchObject({ status: 0 });
  expect(await world.atService(state)).toEqual([{ orders: 226, lines: 226 }]);
  expect(await world.openDeadLetters()).toEqual([]);
});

test('what another run would remove is counted by that run alone until it has ended', async ({ world }) => {
  await pushOrders(world, 2);
  await world.warehouse(
    `insert into sync.runs (id, job, trigger, started_at) values ('other', 'backfill-orders', 'command', now())`,
  );
  await world.shop(`delete from l where order_code = 'O1' and line_code = '2'; ${touch}`);
  await world.sync({ runId: 'other' });
  await world.sync();
  expect(await world.atService(subOrders)).toEqual([{ n: 4 }]);
  await world.warehouse(`update sync.runs set finished_at = now(), outcome = 'incomplete'`);
  await world.sync();
  expect(await world.atService(subOrders)).toEqual([{ n: 3 }]);
});

test('removals that were held back stay so when one of the orders changes alone, until they are allowed', async ({
  world,
}) => {
  await pushOrders(world, 24);
  await world.shop(`delete from l where line_code = '2'; ${touch}`);
  await world.sync();
  await world.shop(`update o set total_price = 7, updated_at = now() where code = 'O1'`);
  await world.sync();
  await world.timePasses('2 days');
  await world.sync();
  expect(await world.atService(subOrders)).toEqual([{ n: 48 }]);
  expect(await world.openDeadLetters()).toHaveLength(24);
  await world.sync({ removals: 'all' });
  expect(await world.atService(subOrders)).toEqual([{ n: 24 }]);
  expect(await world.openDeadLetters()).toEqual([]);
});

test('the order model explains what is held back, a push meanwhile, and what was taken back', async ({ openWorld }) => {
  const world = await openWorld({ isTraced: true });
  await pushOrders(world, 24);
  await world.shop(
    `create table kept as select * from l where line_code = '2'; delete from l where line_code = '2'; ${touch}`,
  );
  await world.sync();
  await world.shop(`update o set total_price = 7, updated_at = now() where code = 'O1'`);
  await world.sync();
  await world.shop(
    `insert into l select * from kept where order_code <> 'O2'; delete from l where order_code = 'O3'; ${touch}`,
  );
  await world.sync();
  await world.shop(`delete from l where order_code = 'O4' and line_code = '2'; ${touch}`);
  await world.sync();
  await world.judge();
  expect((await world.openDeadLetters()).map(({ key }) => key)).toEqual(['O2', 'O3']);
  expect(await world.atService(subOrders)).toEqual([{ n: 47 }]);
});

test('what is left of removals that were held back stays held back, however few they are by then', async ({
  world,
}) => {
  await pushOrders(world, 24);
  await world.shop(
    `create table kept as select * from l where line_code = '2'; delete from l where line_code = '2'; ${touch}`,
  );
  await world.sync();
  await world.shop(`insert into l select * from kept where order_code <> 'O1'; ${touch}`);
  await world.sync();
  await world.sync();
  expect(await world.openDeadLetters()).toMatchObject([{ key: 'O1' }]);
  expect(await world.atService(subOrders)).toEqual([{ n: 48 }]);
});

test('one run with --allow-removals reads all orders whose removals were held back, a batch at a time', async ({
  world,
}) => {
  await pushOrders(world, 1);
  await world.warehouse(`insert into sync.order_links (order_code, order_id, pushed_at, removals_held, removals_wanted, failures)
    select 'H' || n, 1000 + n, now() - interval '1 hour', true, 1, 1 from generate_series(1, 2500) n;
    insert into sync.dead_letters (kind, key, order_code, reason, payload)
    select 'order', 'H' || n, 'H' || n, 'held', '{}' from generate_series(1, 2500) n`);
  const { shop, warehouse } = await world.openApp();
  const deps = { shop, db: warehouse.db };
  const read = async (removals: 'usual' | 'all') => {
    const options = { lookbackMinutes: 10, batchSize: 200, removals };
    const [codes, sizes]: [Set<string>, number[]] = [new Set(), []];
    let batch: SyncBatch | undefined = await planSyncOrders(deps, options);
    while (batch !== undefined) {
      const held = batch.steps.flatMap((step) => step.codes).filter((code) => code.startsWith('H'));
      for (const code of held) codes.add(code);
      sizes.push(held.length);
      // The pushes remove what was held back.
      await world.warehouse(
        'update sync.order_links set removals_held = false, removals_wanted = 0 where order_code = any($1)',
        [held],
      );
      batch = await continueSyncOrders(deps, batch.state, { failed: false, isLost: false }, options);
    }
    return { codes: codes.size, most: Math.max(...sizes) };
  };
  expect(await read('all')).toEqual({ codes: 2500, most: 2000 });
  await world.warehouse('update sync.order_links set removals_held = true, removals_wanted = 1');
  expect(await read('usual')).toEqual({ codes: 2000, most: 2000 });
});

/** One push of order O1 by a run. @param waits called when another process has the lease. */
async function pushOf(world: OrderWorld, runId: string, removals: PushPolicy['removals'], waits = () => {}) {
  const app = await world.openApp();
  const plannedAt = (await warehouseNow(app.warehouse.db)).toISOString();
  const step = { codes: ['O1'], contact: 'young' as const, removals, ...(removals === 'approved' && { plannedAt }) };
  return () => pushStep(sliceDeps(app, { runId, onWait: waits }), step);
}

const remembered = `select removals_wanted as wanted, removals_held as "isHeld", removals_run as run
  from sync.order_links where order_code = 'O1'`;

test('a run that waits for an order removes only what it has counted, not what the other run has noted meanwhile', async ({
  world,
}) => {
  await pushOrders(world, 1);
  await world.shop(`insert into l (order_code, line_code, product_id) select 'O1', n::text, 1 from generate_series(3, 9) n;
    ${touch}`);
  await world.sync();
  await world.shop(`delete from l where line_code = '9'`);
  await (await pushOf(world, 'mine', 'usual'))();
  const [isWaiting, isPosting] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  world.serviceRule(async (): Promise<Fate> => {
    isPosting.resolve();
    await isWaiting.promise;
    return 'pass';
  });
  await world.shop(`delete from l where line_code > '2'`);
  const other = (await pushOf(world, 'other', 'usual'))();
  await isPosting.promise;
  await (await pushOf(world, 'mine', 'approved', isWaiting.resolve))();
  await other;
  expect(await world.atService(subOrders)).toEqual([{ n: 9 }]);
  expect(await world.warehouse(remembered)).toEqual([{ wanted: 7, isHeld: false, run: 'other' }]);
});

test('a run says how many removals are left to another run that has not ended', async ({ world }) => {
  await pushOrders(world, 1);
  await world.shop(`delete from l where line_code = '2'; ${touch}`);
  await world.warehouse(
    `insert into sync.runs (id, job, trigger, started_at) values ('killed', 'sync-orders', 'command', now())`,
  );
  await (await pushOf(world, 'killed', 'usual'))();
  const { warehouse } = await world.openApp();
  await world.sync();
  expect(await world.atService(subOrders)).toEqual([{ n: 2 }]);
  expect(await waitingCounts(warehouse.db)).toMatchObject({ removals_waiting: 1 });
  await world.warehouse(`update sync.runs set finished_at = now(), outcome = 'abandoned' where id = 'killed'`);
  await world.sync();
  expect(await world.atService(subOrders)).toEqual([{ n: 1 }]);
  expect(await waitingCounts(warehouse.db)).toEqual({ lines_waiting: 0 });
});

test('what another run has held back since it was counted is not removed', async ({ world }) => {
  await pushOrders(world, 1);
  await world.shop(`delete from l where line_code = '2'`);
  await (await pushOf(world, 'mine', 'usual'))();
  const approved = await pushOf(world, 'mine', 'approved');
  const { warehouse } = await world.openApp();
  await holdRemovals(warehouse.db, 'other', { codes: ['O1'], reason: 'far more than usual' });
  await approved();
  expect(await world.atService(subOrders)).toEqual([{ n: 2 }]);
  expect(await world.openDeadLetters()).toMatchObject([{ key: 'O1' }]);
});

test('a push that began before its order was held back does not undo that', async ({ openWorld }) => {
  const world = await openWorld({ isTraced: true });
  await pushOrders(world, 1);
  await world.shop(`delete from l where line_code = '2'`);
  await (await pushOf(world, 'mine', 'usual'))();
  const { warehouse } = await world.openApp();
  world.serviceRule(async (): Promise<Fate> => {
    await holdRemovals(warehouse.db, 'mine', { codes: ['O1'], reason: 'far more than usual' });
    return 'pass';
  });
  await world.shop('update o set total_price = 7');
  await (await pushOf(world, 'other', 'usual'))();
  await world.judge();
  expect(await world.warehouse(remembered)).toEqual([{ wanted: 1, isHeld: true, run: 'other' }]);
  expect(await world.openDeadLetters()).toMatchObject([{ key: 'O1', reason: 'far more than usual' }]);
  await world.sync();
  expect(await world.atService(subOrders)).toEqual([{ n: 2 }]);
  await world.sync({ removals: 'all' });
  expect(await world.atService(subOrders)).toEqual([{ n: 1 }]);
  expect(await world.openDeadLetters()).toEqual([]);
});

test.for([422, 500])(
  'what another run holds back during a push stays held back when the service responds with %d',
  async (status, { openWorld }) => {
    const world = await openWorld({ isTraced: true });
    await pushOrders(world, 1);
    await world.shop(`delete from l where line_code = '2'; ${touch}`);
    await (await pushOf(world, 'mine', 'usual'))();
    const { warehouse } = await world.openApp();
    world.serviceRule(async ({ form }): Promise<Fate> => {
      if (!form.has('code')) return 'pass';
      await holdRemovals(warehouse.db, 'mine', { codes: ['O1'], reason: 'far more than usual' });
      return { status };
    });
    await world.shop('update o set total_price = 7');
    await (await pushOf(world, 'other', 'usual'))();
    await world.judge();
    expect(await world.warehouse(remembered)).toEqual([{ wanted: 1, isHeld: true, run: 'mine' }]);
    world.serviceRule(() => 'pass');
    await world.timePasses('1 day');
    const end = await runCli(['sync', 'orders'], world.environment);
    expect(end.stdout + end.stderr).toContain('1 removals of orders and lines are held back');
    expect(await world.atService(subOrders)).toEqual([{ n: 2 }]);
    expect(await world.openDeadLetters()).toMatchObject([
      { key: 'O1', reason: expect.stringContaining('--allow-removals') },
    ]);
  },
);

test('a deletion that was allowed and that the service failed stays held back until it is allowed again', async ({
  world,
}) => {
  await pushOrders(world, 30);
  await world.shop('update o set deleted_at = now(), updated_at = now()');
  await world.sync({ deletes: 'send' });
  world.serviceRule(({ method, path }) => (method === 'DELETE' && path.endsWith('/2') ? { status: 500 } : 'pass'));
  await world.sync({ deletes: 'send', removals: 'all' });
  world.serviceRule(() => 'pass');
  await world.timePasses('1 day');
  await world.sync({ deletes: 'send' });
  expect(world.requests().filter(({ method }) => method === 'DELETE')).toEqual([]);
  expect(await world.openDeadLetters()).toHaveLength(1);
  await world.sync({ deletes: 'send', removals: 'all' });
  expect(await world.atService('select code from reference_service.orders')).toEqual([]);
  expect(await world.openDeadLetters()).toEqual([]);
});

test('deletions that were held back are held back again when the orders were gone from the shop for a while', async ({
  world,
}) => {
  await pushOrders(world, 30);
  const environment = { ...world.environment, ORDER_DELETES: 'send' };
  await world.shop('update o set deleted_at = now(), updated_at = now()');
  expect((await runCli(['sync', 'orders'], environment)).status).toBe(1);
  await world.shop('create table kept as select * from o; delete from o');
  await runCli(['sync', 'orders'], environment);
  await world.shop('insert into o select * from kept; update o set updated_at = now()');
  const end = await runCli(['sync', 'orders'], environment);
  expect(end.stdout + end.stderr).toContain('30 removals of orders and lines are held back');
  expect(end.status).toBe(1);
  expect((await runCli(['sync', 'orders', '--allow-removals'], environment)).status).toBe(0);
  expect(await world.atService('select code from reference_service.orders')).toEqual([]);
});

test('removals stay held back, and are counted as such, when a later push of the order ends in an error', async ({
  world,
}) => {
  await pushOrders(world, 30);
  await world.shop(`delete from l where line_code = '2'; ${touch}`);
  await world.sync();
  const { warehouse, orderStore } = await world.openApp();
  const leased = await orderStore.lease('O1');
  if ('leasedBy' in leased) throw new Error('the order is leased');
  const deadLetter = { kind: 'order' as const, key: 'O1', order_code: 'O1', reason: 'an error', payload: {} };
  await orderStore.recordError(leased, { fingerprint: 'any', failedPushes: 1, retryAfterMs: 1000, deadLetter });
  expect(await removalsHeld(warehouse.db)).toBe(30);
});

test('removals that were held back stay so when the service refuses the order or fails on it meanwhile', async ({
  world,
}) => {
  for (const status of [422, 500]) {
    await pushOrders(world, 30);
    await world.shop(`delete from l where line_code = '2'; ${touch}`);
    await world.sync();
    world.serviceRule(({ form }): Fate => (form.get('code') === 'O1' ? { status } : 'pass'));
    await world.shop(`update o set total_price = 7, updated_at = now() where code = 'O1'`);
    await world.sync();
    world.serviceRule(() => 'pass');
    await world.timePasses('1 day');
    await world.sync();
    expect(await world.atService(subOrders)).toEqual([{ n: 60 }]);
    expect(await world.openDeadLetters()).toHaveLength(30);
  }
});
