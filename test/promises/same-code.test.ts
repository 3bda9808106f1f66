import { expect } from 'vitest';
import { line, type OrderWorld, order, orderTest as test } from '../harness/order-world.ts';
import type { ProxiedRequest } from '../harness/proxy.ts';

const isOrders = ({ path }: ProxiedRequest) => path === '/v1/orders';
const isPost = (request: ProxiedRequest) => request.method === 'POST' && isOrders(request);
const isLookup = (request: ProxiedRequest) => request.method === 'GET' && isOrders(request);

/** The service holds codes for one that are equal after `fold`. */
type Service = { fold: (code: string) => string; lookups: 'fold' | 'exact' | 'none' };

function folds(world: OrderWorld, { fold, lookups }: Service, created: 'pass' | 'lose' = 'pass'): void {
  world.serviceRule((request) => {
    if (isLookup(request) && lookups === 'none') return { status: 400 };
    if (!isPost(request) && !(isLookup(request) && lookups === 'fold')) return 'pass';
    request.form.set('code', fold(request.form.get('code') ?? ''));
    return isPost(request) ? created : 'pass';
  });
}

const lower = (code: string) => code.toLowerCase();
const plain = (code: string) => code.normalize('NFD').replaceAll(/\p{M}/gu, '');
const of = (code: string, name: string, product: number) =>
  order(code, { user_code: name, user_email: `${name}@example.com` }, line('1', product));
const customers = 'select user_code, user_email from reference_service.orders order by 1';
const mailed = (world: OrderWorld) =>
  world.requests().flatMap(({ path, form }) => (path === '/v1/orders' ? form.getAll('user_email') : []));

test.for<[string, string, string, Service]>([
  ['case', 'xK3f', 'Xk3F', { fold: lower, lookups: 'fold' }],
  ['case, when they are written', 'xK3f', 'Xk3F', { fold: lower, lookups: 'exact' }],
  ['case, without lookups', 'xK3f', 'Xk3F', { fold: lower, lookups: 'none' }],
  ['outer spaces', 'T-1', 'T-1 ', { fold: (code) => code.trim(), lookups: 'fold' }],
  [
    'forms of Unicode',
    '주문-1',
    '주문-1'.normalize('NFD'),
    { fold: (code) => code.normalize('NFC'), lookups: 'exact' },
  ],
  ['accents', 'Cafe', 'Café', { fold: plain, lookups: 'fold' }],
])('no stranger gets into an order whose code another order has in another form: %s', async (row, { world }) => {
  const [, first, second, service] = row;
  await world.place(of(first, 'kim', 1));
  folds(world, service);
  await world.sync();
  const before = await world.atService(customers);
  await world.place(of(second, 'lee', 3));
  folds(world, service);
  expect(await world.cli('sync', 'orders')).toMatchObject({ status: 1 });
  expect(mailed(world)).toEqual([]);
  expect(await world.openDeadLetters()).toMatchObject([{ kind: 'order', key: second }]);
  await world.cli('sync', 'orders');
  expect(mailed(world)).toEqual([]);
  expect(await world.atService(customers)).toEqual(before);
  expect(await world.atService('select product_id from reference_service.sub_orders')).toEqual([{ product_id: '1' }]);
});

test.for<[string, boolean]>([
  ['one', false],
  ['two', true],
])(
  'two new orders whose codes differ in case, at a service that holds them for %s',
  async ([_, isApart], { world }) => {
    await world.place(of('pQ', 'kim', 1), of('Pq', 'lee', 3));
    for (let run = 1; run <= 2; run += 1) {
      folds(world, { fold: isApart ? String : lower, lookups: 'fold' });
      await world.sync();
      if (!isApart) expect(mailed(world)).toEqual([]);
    }
    const apart = ['kim', 'lee'].map((name) => ({ user_code: name, user_email: `${name}@example.com` }));
    expect(await world.atService(customers)).toEqual(isApart ? apart : [{ user_code: null, user_email: null }]);
    expect((await world.openDeadLetters()).map(({ key }) => key)).toEqual(isApart ? [] : ['Pq', 'pQ']);
    const verified = isApart ? '2 the same, 0 different' : '0 the same, 0 different, 2 not compared';
    expect((await world.cli('verify', 'orders')).stdout).toContain(verified);
    const lines = await world.atService('select product_id from reference_service.sub_orders order by 1');
    expect(lines.map(({ product_id }) => product_id)).toEqual(isApart ? ['1', '3'] : []);
  },
);

test('the second of two codes waits until the creation of the first has shown its id', async ({ world }) => {
  // So many that the service would count as down if it had failed.
  const pairs = Array.from({ length: 6 }, (_, n) => [`xK${n}`, `Xk${n}`] as const);
  await world.place(...pairs.map(([first]) => of(first, 'kim', 1)));
  folds(world, { fold: lower, lookups: 'fold' }, 'lose');
  for (let run = 1; run <= 2; run += 1) await world.sync().catch(() => undefined);
  await world.place(...pairs.map(([, second]) => of(second, 'lee', 3)));
  const firstLater = `update sync.order_links set due_at = now() + interval '1 hour' where order_code like 'xK%'`;
  folds(world, { fold: lower, lookups: 'fold' });
  for (let run = 1; run <= 3; run += 1) {
    await world.warehouse(firstLater);
    await world.sync();
  }
  expect(mailed(world)).toEqual([]);
  for (const [first, second] of pairs)
    expect(await world.openDeadLetters()).toContainEqual({
      kind: 'order',
      key: second,
      reason: expect.stringContaining(`"${first}", which it has not shown yet`),
    });
  expect(await world.atService(customers)).toEqual(
    pairs.map(() => ({ user_code: 'kim', user_email: 'kim@example.com' })),
  );
  // Once the first is known, both say that they are one.
  await world.timePasses('1 day');
  for (let run = 1; run <= 2; run += 1) await world.sync();
  expect(mailed(world)).toEqual([]);
  expect(await world.openDeadLetters()).toMatchObject(
    pairs
      .flat()
      .sort()
      .map((key) => ({ key, reason: expect.stringContaining('the service has one order') })),
  );
});

test('the second of two codes is sent once the first is known to be another order', async ({ world }) => {
  await world.place(of('xK3f', 'kim', 1));
  world.serviceRule((request) => (isPost(request) ? { status: 500 } : 'pass'));
  await world.sync();
  await world.place(of('Xk3F', 'lee', 3));
  await world.warehouse(`update sync.order_links set due_at = now() + interval '1 hour'`);
  world.serviceRule(() => 'pass');
  const preview = (await world.cli('preview', 'order', 'Xk3F')).stdout;
  expect(preview).toContain('for this code and for "xK3f". Customer and lines are sent once it has shown two.');
  await world.sync();
  expect(mailed(world)).toEqual([]);
  for (let run = 1; run <= 2; run += 1) {
    await world.timePasses('1 hour');
    await world.sync();
  }
  expect(await world.atService(customers)).toEqual(
    ['kim', 'lee'].map((name) => ({ user_code: name, user_email: `${name}@example.com` })),
  );
  expect(await world.openDeadLetters()).toEqual([]);
});

test('a lookup that ignores case leads to an order of somebody else: no line is sent to it', async ({ world }) => {
  await world.place(of('AB', 'park', 1));
  await world.sync();
  await world.shop('delete from o; delete from l');
  await world.warehouse('delete from sync.sub_order_links');
  await world.warehouse('delete from sync.order_links');
  await world.place(of('ab', 'kim', 1));
  await world.sync();
  await world.place(of('Ab', 'lee', 3));
  world.serviceRule((request) => {
    if (isLookup(request)) request.form.set('code', 'AB');
    return 'pass';
  });
  await world.sync();
  const lines = `select o.code, s.product_id from reference_service.orders o
    left join reference_service.sub_orders s on s.order_id = o.id order by o.code collate "C"`;
  expect(await world.atService(lines)).toEqual([
    { code: 'AB', product_id: '1' },
    { code: 'Ab', product_id: '3' },
    { code: 'ab', product_id: '1' },
  ]);
});

test.for([
  ['exact', true],
  ['without case', false],
] as const)(
  'an id that a code that is alike has by now is not deleted, lookups %s',
  async ([_, isExact], { openWorld }) => {
    const world = await openWorld({ environment: { ORDER_DELETES: 'send' } });
    await world.place(of('T-1', 'kim', 1), of('t-1', 'lee', 3));
    for (let run = 1; run <= 2; run += 1) await world.sync();
    // The service was restored, and has made the second order again under the id of the first.
    await world.atService('delete from reference_service.sub_orders');
    await world.atService(`delete from reference_service.orders where code = 'T-1'`);
    await world.warehouse(`update sync.order_links set order_id = 1000 - order_id`);
    await world.warehouse(
      `update sync.order_links set order_id = (select 1000 - order_id from sync.order_links where order_code = 't-1') where order_code = 'T-1'`,
    );
    await world.shop(`update o set deleted_at = now(), updated_at = now() where code = 'T-1'`);
    world.serviceRule((request) => {
      if (isLookup(request) && !isExact) request.form.set('code', 't-1');
      return 'pass';
    });
    await world.sync({ deletes: 'send' });
    expect(world.requests().filter(({ method }) => method === 'DELETE')).toEqual([]);
    // An exact lookup shows that the order is gone.
    expect((await world.openDeadLetters()).map(({ key }) => key)).toEqual(isExact ? [] : ['T-1']);
    expect(await world.atService('select code, user_code from reference_service.orders')).toEqual([
      { code: 't-1', user_code: 'lee' },
    ]);
  },
);

test.for([
  ['422', 422],
  ['500', 500],
] as const)(
  'an order whose code the shop corrects after the service answered %s is sent with its customer',
  async ([_, status], { world }) => {
    await world.place(of('T-1 ', 'kim', 1));
    world.serviceRule((request) => (isPost(request) ? { status } : 'pass'));
    expect(await world.sync()).toMatchObject({ orders_failed: 1 });
    await world.shop(`update o set code = 'T-1', updated_at = now(); update l set order_code = 'T-1'`);
    world.serviceRule(() => 'pass');
    for (let run = 1; run <= 3; run += 1) {
      await world.timePasses('1 day');
      await world.sync();
    }
    expect(await world.atService(customers)).toEqual([{ user_code: 'kim', user_email: 'kim@example.com' }]);
    expect(await world.openDeadLetters()).toEqual([]);
  },
);

test('an order that has lines at the service keeps its place after it has left the shop', async ({ world }) => {
  await world.place(order('xK3f', {}, line('1', 1)));
  folds(world, { fold: lower, lookups: 'fold' });
  await world.sync();
  await world.shop(`delete from o; delete from l`);
  await world.warehouse('update sync.order_links set due_at = now()');
  await world.sync();
  await world.place(of('Xk3F', 'lee', 3));
  for (let run = 1; run <= 2; run += 1) await world.sync();
  expect(mailed(world)).not.toContain('lee@example.com');
  expect(await world.openDeadLetters()).toMatchObject([{ key: 'Xk3F' }]);
});

test.for(['off', 'send'])(
  'the second of two codes that is refused stays a dead letter: deletes %s',
  async (deletes, { openWorld }) => {
    const world = await openWorld({ environment: { ORDER_DELETES: deletes } });
    await world.place(of('xK3f', 'kim', 1));
    await world.sync();
    await world.place(of('Xk3F', 'lee', 3));
    world.serviceRule((request) => (isPost(request) ? { status: 422 } : 'pass'));
    expect(await world.sync()).toMatchObject({ orders_failed: 1 });
    world.serviceRule(() => 'pass');
    expect(await world.sync()).toMatchObject({ orders_unchanged: 2 });
    expect(world.requests()).toEqual([]);
    expect(await world.openDeadLetters()).toMatchObject([{ kind: 'order', key: 'Xk3F' }]);
    await world.timePasses('1 day');
    expect(await world.sync()).toMatchObject({ orders_pushed: 1 });
    expect(mailed(world)).toEqual(['lee@example.com']);
    expect(await world.openDeadLetters()).toEqual([]);
  },
);

test.for(['off', 'send'].flatMap((deletes) => ['xK3f', 'Xk3F'].map((code) => [deletes, code] as const)))(
  'one of two codes that are one order is cancelled: deletes %s, %s',
  async ([deletes, code], { openWorld }) => {
    const world = await openWorld({ environment: { ORDER_DELETES: deletes } });
    const syncs = async () => {
      await world.timePasses('1 day');
      folds(world, { fold: lower, lookups: 'fold' });
      await world.sync();
    };
    await world.place(of('xK3f', 'kim', 1));
    await syncs();
    await world.place(of('Xk3F', 'lee', 3));
    for (let run = 1; run <= 2; run += 1) await syncs();
    expect(await world.openDeadLetters()).toHaveLength(2);
    await world.shop(`update o set deleted_at = now(), updated_at = now() where code = '${code}'`);
    await world.shop(`update o set total_price = 7, updated_at = now() where code <> '${code}'`);
    for (let run = 1; run <= 2; run += 1) await syncs();
    // Of the first, its contact goes, or all of it. The second has nothing at the service, and the first goes on.
    const [kim, lee] = ['kim', 'lee'].map((name) => ({ user_code: name, user_email: `${name}@example.com` }));
    const isFirst = code === 'xK3f';
    const left = isFirst ? (deletes === 'send' ? lee : { user_code: 'kim', user_email: null }) : kim;
    expect(await world.atService(customers)).toEqual([left]);
    expect((await world.openDeadLetters()).map(({ key }) => key)).toEqual(isFirst && deletes === 'off' ? ['Xk3F'] : []);
  },
);

test.for(['exact', 'none'] as const)(
  'after a restored backup of the service, two codes that have changed ids are told apart: lookups %s',
  async (lookups, { world }) => {
    await world.place(of('T-1', 'kim', 1), of('t-1', 'lee', 3));
    for (let run = 1; run <= 2; run += 1) await world.sync();
    await world.atService('delete from reference_service.sub_orders; delete from reference_service.orders');
    await world.atService('alter table reference_service.orders alter column id restart');
    await world.warehouse(
      `update sync.order_links set due_at = null, order_id = case order_code when 'T-1' then 1 else 2 end`,
    );
    // The second is made again first, and gets the id of the first.
    await world.shop(`update o set total_price = 7, updated_at = now() where code = 't-1'`);
    folds(world, { fold: String, lookups });
    for (let run = 1; run <= 3; run += 1) await world.sync();
    expect(await world.openDeadLetters()).toEqual([]);
    expect(await world.atService(customers)).toEqual(
      ['kim', 'lee'].map((name) => ({ user_code: name, user_email: `${name}@example.com` })),
    );
  },
);
