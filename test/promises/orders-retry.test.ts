import { expect, vi } from 'vitest';
import { line, order, orders, orderTest as test } from '../harness/order-world.ts';
import type { ProxiedRequest } from '../harness/proxy.ts';
import { daysAgo } from '../harness/world.ts';

const isPostOf = (code: string, { method, path, form }: ProxiedRequest) =>
  method === 'POST' && path === '/v1/orders' && form.get('code') === code;

test('a discarded order stays so until it fails for another reason', async ({ world }) => {
  await world.place(...orders(2));
  const failing = async (status: number) => {
    await world.timePasses('1 day');
    world.serviceRule((one) => (isPostOf('O2', one) && status !== 200 ? { status } : 'pass'));
    const { outcome } = await world.run('sync-orders');
    return { outcome, open: await world.openDeadLetters(), isTried: world.writes().length > 0 };
  };
  const discardAll = () =>
    world.warehouse('update sync.dead_letters set is_discarded = true, resolved_at = now() where resolved_at is null');
  expect(await failing(422)).toMatchObject({ outcome: 'incomplete', open: [{ key: 'O2' }] });
  const [letter] = await world.warehouse('select id from sync.dead_letters');
  await world.ends(0, `dead-letters discard ${letter?.id}`);
  await world.warehouse(`update sync.dead_letters set last_failed_at = now() - interval '100 days'`);
  expect(await failing(422)).toEqual({ outcome: 'done', open: [], isTried: true });
  // A record that still fails is not forgotten after 90 days.
  const recent = `select from sync.dead_letters where last_failed_at > now() - interval '1 day'`;
  expect(await world.warehouse(recent)).toHaveLength(1);
  // By its id it can be tried again all the same.
  await world.ends(1, `dead-letters retry ${letter?.id}`, /^0 of 1 record: .* Open: 1/);
  // The same holds for a row that cannot be read.
  await world.shop(`update l set product_id = 0 where order_code = 'O2'`);
  expect(await failing(200)).toMatchObject({ outcome: 'incomplete', open: [{ key: expect.stringMatching(/^O2/) }] });
  await discardAll();
  expect(await failing(200)).toMatchObject({ outcome: 'done', open: [] });
  // After another failure the discard is over, and after a success too.
  const change = (price: number) => world.shop(`update o set total_price = ${price}, updated_at = now()`);
  await world.shop(`update l set product_id = 2 where order_code = 'O2'`);
  await change(77);
  expect(await failing(422)).toMatchObject({ open: [{ reason: expect.stringContaining('422') }] });
  await discardAll();
  const open = [{ reason: expect.stringContaining('413') }];
  expect(await failing(413)).toMatchObject({ open });
  expect(await world.warehouse('select from sync.dead_letters where is_discarded')).toEqual([]);
  await discardAll();
  expect(await failing(200)).toMatchObject({ outcome: 'done', open: [] });
  await change(78);
  expect(await failing(413)).toMatchObject({ open });
});

test('a fault of the program, or of the warehouse, in one order is its dead letter', async ({ world }) => {
  await world.place(...orders(4));
  await world.warehouse(`alter table sync.sub_order_links add constraint bad check (order_code <> 'O3')`);
  const { api, log } = await world.openApp();
  const upsert: typeof api.orders.upsert = (body, ...more) => {
    if (body.code === 'O2') throw new TypeError('undefined is not a function');
    return api.orders.upsert(body, ...more);
  };
  const error = vi.spyOn(log, 'error');
  const broken = { api: { ...api, orders: { ...api.orders, upsert } }, log };
  expect(await world.sync(broken)).toMatchObject({ orders_pushed: 2, orders_failed: 2 });
  const cannot = 'the order cannot be sent or recorded: ';
  expect(await world.openDeadLetters()).toEqual([
    { kind: 'order', key: 'O2', reason: `${cannot}undefined is not a function` },
    { kind: 'order', key: 'O3', reason: `${cannot}the warehouse refuses one of its values` },
  ]);
  const stack = expect.stringContaining('orders-retry.test');
  expect(error).toHaveBeenCalledWith(expect.objectContaining({ order: 'O2', stack }), expect.any(String));
  expect(await world.warehouse('select order_code from sync.order_links where lease_owner is not null')).toEqual([]);

  await world.warehouse('alter table sync.sub_order_links drop constraint bad');
  await world.syncDaily(1);
  expect(await world.openDeadLetters()).toEqual([]);
});

test('a sub-order that the service made although it answered 429 is removed an hour later', async ({ world }) => {
  await world.place(order('A', line('1', 7)), order('B', line('1', 7)));
  let left = 1;
  world.serviceRule(({ method, path }) =>
    method === 'POST' && path.endsWith('/sub_orders') && left-- > 0 ? { carriedOutWith: 429 } : 'pass',
  );
  expect(await world.sync()).toMatchObject({ sub_orders_added: 2 });
  const count = async () => (await world.atService('select from reference_service.sub_orders')).length;
  await world.timePasses('59 minutes');
  await world.sync();
  expect(await count()).toBe(3);
  await world.timePasses('1 minute');
  // Refused once, it goes a day later.
  world.serviceRule(({ method }) => (method === 'DELETE' ? { status: 403 } : 'pass'));
  expect(await world.sync()).not.toHaveProperty('sub_orders_removed');
  world.serviceRule(() => 'pass');
  await world.timePasses('1 day');
  expect(await world.sync()).toMatchObject({ sub_orders_removed: 1 });
  expect([await count(), await world.openDeadLetters()]).toEqual([2, []]);
});

/** Orders that are due although the shop did not change them: one run pushes all, however many batches they fill. */
const inBatches = test.extend('worldOptions', {
  environment: { ORDER_BATCH_SIZE: '10', ORDER_OVERLAP_MINUTES: '10' },
});
const aYearAgo = daysAgo(365);
const codes = (prefix: string) => Array.from({ length: 25 }, (_, n) => `${prefix}${n}`);

inBatches('orders that wait for a product or a grade are all pushed once both are known', async ({ world }) => {
  const [products, grades] = [codes('P'), codes('G')];
  await world.place(
    ...products.map((code) => order(code, { updated_at: aYearAgo }, line('1', 'rare'))),
    ...grades.map((code) => order(code, { updated_at: aYearAgo })),
    order('NEWEST', { updated_at: new Date(Date.now() - 60_000) }),
  );
  await world.shop(`alter table o add column user_grade_code text;
    update o set user_grade_code = 'gold' where code like 'G%'`);
  const sync = () => world.run('sync-orders');
  expect((await sync()).counts).toMatchObject({ lines_waiting: 25, orders_waiting_for_grade: 25 });

  await world.atService(
    `insert into reference_service.user_grades (name, created_at, updated_at) values ('Gold', now(), now())`,
  );
  await world.warehouse(`insert into sync.product_links (product_code, product_id) values ('rare', 9);
    insert into sync.user_grade_links (user_grade_code, user_grade_id, fingerprint) values ('gold', 1, '')`);
  const counts = await world.done('sync-orders');
  expect(counts).toMatchObject({ orders_pushed: 50, lines_waiting: 0 });
  expect(counts).not.toHaveProperty('orders_waiting_for_grade');
  expect(await world.atService('select from reference_service.orders where user_grade_id = 1')).toHaveLength(25);
  expect(await world.atService('select from reference_service.sub_orders where product_id = 9')).toHaveLength(25);
  expect(await world.prints('status')).not.toMatch(/order lines of|member grade/);
  expect((await sync()).counts.orders_pushed ?? 0).toBe(0);
});

inBatches('dead-letters retry retries all, and is incomplete if a line cannot be read', async ({ world }) => {
  const refused = codes('R');
  await world.place(...refused.map((code) => order(code, { updated_at: aYearAgo }, line('1', 7))));
  await world.place(order('A', { total_price: -1e15 }, line('1', 7), line('2', 7, { price: -1e15 })), order('B'));
  world.serviceRule(({ form }) => (refused.includes(form.get('code') ?? '') ? { status: 422 } : 'pass'));
  await world.ends(1, 'sync orders');
  expect(await world.openDeadLetters()).toHaveLength(26);
  world.serviceRule(() => 'pass');
  await world.shop(`update o set total_price = 7 where code = 'A'`);
  const [ofA] = await world.warehouse(`select id from sync.dead_letters where key = 'A'`);
  await world.ends(1, `dead-letters retry ${ofA?.id}`, /^1 of 1 record: .* Open: 26;/);
  await world.ends(1, 'dead-letters retry', /^25 of 26 records: synced, or gone from the shop\. Open: 1;/);
  expect(await world.openDeadLetters()).toMatchObject([{ kind: 'order_line', key: 'A/2' }]);
  await world.shop('update l set price = 7');
  await world.ends(0, 'dead-letters retry');
  expect(await world.atService('select from reference_service.sub_orders')).toHaveLength(27);
});
