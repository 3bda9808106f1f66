import { expect } from 'vitest';
import { line, type OrderWorld, order, orderTest as test } from '../harness/order-world.ts';
import type { ProxiedRequest } from '../harness/proxy.ts';

const isOrders = ({ path }: ProxiedRequest) => path === '/v1/orders';
const isPost = (request: ProxiedRequest) => request.method === 'POST' && isOrders(request);

type Fold = (code: string, method: string) => string;

/** The service holds codes for one that are equal after `fold`. */
function folds(world: OrderWorld, fold: Fold): void {
  world.serviceRule((request) => {
    if (isOrders(request)) request.form.set('code', fold(request.form.get('code') ?? '', request.method));
    return 'pass';
  });
}

const lower = (code: string) => code.toLowerCase();
const same = (code: string) => code;
const customer = (name: string) => ({ user_code: name, user_email: `${name}@example.com` });
const of = (code: string, name: string, product: number) => order(code, customer(name), line('1', product));
const keys = async (world: OrderWorld) => (await world.openDeadLetters()).map(({ key }) => key);
const customers = 'select user_code, user_email from reference_service.orders order by 1';
const contents = `
  select o.code, o.user_email, o.total_price::int as total, coalesce(jsonb_agg(s.product_id) filter (where s.id is not null), '[]') as products
  from reference_service.orders o left join reference_service.sub_orders s on s.order_id = o.id group by o.id order by o.code`;
const mailed = (world: OrderWorld) =>
  world.requests().flatMap(({ path, form }) => (path === '/v1/orders' ? form.getAll('user_email') : []));

/** The first code, another one, and how the service makes one code of both. */
const forms: readonly [first: string, second: string, fold: Fold][] = [
  ['xK3f', 'Xk3F', lower],
  // Looked up exactly.
  ['xL3f', 'Xl3F', (code, method) => (method === 'POST' ? lower(code) : code)],
  // A column that ignores case.
  ['xN3f', 'Xn3F', () => 'xN3f'],
  ['T-1', 'T-1 ', (code) => code.trim()],
  ['AB1', 'ＡＢ１', (code) => code.normalize('NFKC')],
  ['AB 1', 'AB\u00a0\u200b 1', () => 'AB 1'],
  ['주문-1', '주문-1'.normalize('NFD'), (code) => code.normalize('NFC')],
  ['Cafe', 'Café', () => 'Cafe'],
];

test('nothing is sent of an order whose code the service holds for another one', async ({ world }) => {
  const foldOf = (code: string) => forms.find(([first, second]) => first === code || second === code)?.[2] ?? same;
  const fold: Fold = (code, method) => foldOf(code)(code, method);
  await world.place(...forms.map(([first]) => of(first, 'kim', 1)));
  folds(world, fold);
  await world.sync();
  const before = await world.atService(contents);
  await world.place(...forms.map(([, second]) => of(second, 'lee', 3)));
  // The first request of a second order changes the total of the first one, whose own push restores it.
  await world.shop(`update o set total_price = 7 where user_code = 'lee'`);
  folds(world, fold);
  const preview = await world.prints('preview order', 'Xk3F');
  expect(preview).toContain('would be a dead letter: the service may hold this code and "xK3f" for one');
  const [, printed = ''] = /sends:\nPOST \/v1\/orders\n(\{[^}]+\})\nThe service may have one order/.exec(preview) ?? [];
  expect(Object.keys(JSON.parse(printed))).toEqual(['code', 'created_at', 'total_price']);
  await world.says('verify orders', 'order Xk3F: could not be compared: the service may hold this code and "xK3f"');
  expect(await world.run('sync-orders')).toMatchObject({ outcome: 'incomplete' });
  await world.says('verify orders', 'order Xl3F: cannot be sent: the service may hold this code and "xL3f" for one');
  await world.syncDaily(2);
  expect(mailed(world)).not.toContain('lee@example.com');
  expect(world.writes().filter((request) => !isPost(request))).toEqual([]);
  // The service is asked once: from then on the dead letter remembers its response.
  expect(world.writes().filter(({ form }) => !form.has('user_code'))).toHaveLength(forms.length);
  expect(await world.atService(contents)).toEqual(before);
  expect(await keys(world)).toEqual(forms.map(([, second]) => second).sort());
});

test('codes that differ in case are two orders where the service shows two', async ({ world }) => {
  await world.place(of('xK3f', 'kim', 1), of('Xk3F', 'lee', 3), of('AbC', 'gone', 1), of('aBc', 'son', 3));
  // Deleted before its push, an order goes before no other one.
  await world.shop(`update o set deleted_at = now() where code = 'AbC'`);
  expect(await world.sync()).toMatchObject({ orders_deleted_in_shop: 1 });
  expect(mailed(world)).toContain('son@example.com');
  await world.sync();
  expect(await world.atService(customers)).toEqual(['kim', 'lee', 'son'].map(customer));
  expect(await keys(world)).toEqual([]);
  await world.says('verify orders', '3 the same');
});

test('of two new orders whose codes differ in case the first by its code is sent', async ({ world }) => {
  await world.place(of('pQ', 'kim', 1), of('Pq', 'lee', 3));
  for (let run = 1; run <= 2; run += 1) {
    folds(world, lower);
    await world.sync();
  }
  expect(await world.atService(customers)).toEqual([customer('lee')]);
  expect(await keys(world)).toEqual(['pQ']);
  await world.says('verify orders', '1 the same, 0 different, 1 not compared');
});

test('of two new orders that two processes begin at once, one is tried again', async ({ world }) => {
  await world.warehouse(`
    create function sync.begin_other() returns trigger language plpgsql as $$ begin
      insert into sync.order_links (order_code, contact, lease_owner, lease_expires_at)
      values ('pQ', 'allowed', 'other', now() + interval '1 minute');
      return new;
    end $$;
    create trigger begin_other before insert on sync.order_links for each row
    when (new.order_code = 'Pq' and new.lease_owner is not null) execute function sync.begin_other()`);
  await world.place(of('Pq', 'lee', 3));
  expect(await world.sync()).toMatchObject({ orders_failed: 1 });
  expect(mailed(world)).toEqual([]);
});

/** The service drops leading zeros and dashes. It looks up numbers as it keeps them, other codes exactly. */
const strips = (request: ProxiedRequest) => {
  const code = request.form.get('code') ?? '';
  const stripped = code.replace(/^0+|-/g, '');
  if (isPost(request) || (isOrders(request) && !code.startsWith('A'))) request.form.set('code', stripped);
  return 'pass' as const;
};

test('an order that the service takes for another one is a dead letter', async ({ world }) => {
  const sync = async () => {
    await world.timePasses('1 day');
    world.serviceRule(strips);
    await world.sync();
  };
  await world.place(of('123', 'kim', 1));
  await sync();
  // One of the numbers was pushed before. The others come at once.
  await world.place(of('00123', 'lee', 3), of('A1', 'ann', 1), of('A-1', 'bob', 3));
  await sync();
  const others = ['lee@example.com', 'bob@example.com'];
  for (const other of others) expect(mailed(world).filter((email) => email === other)).toHaveLength(1);
  const letters = [
    { key: '00123', reason: expect.stringMatching(/"123".* Let orders.sql give this order/) },
    { key: 'A-1', reason: expect.stringMatching(/"A1".* Let orders.sql give this order/) },
  ];
  expect(await world.openDeadLetters()).toMatchObject(letters);
  const first = (code: string, name: string) => {
    return { code, user_email: `${name}@example.com`, total: 100, products: [1] };
  };
  // The second change is a fault of its own, and the last run comes after a discard.
  for (const change of ['total_price + 1', '1e20', '100', '101']) {
    await world.shop(`update o set total_price = ${change}, updated_at = now() where code in ('00123', 'A-1')`);
    await sync();
    await world.sync();
    expect(await world.atService(contents)).toEqual([first('123', 'kim'), first('A1', 'ann')]);
    for (const other of others) expect(mailed(world)).not.toContain(other);
    expect(await keys(world)).toEqual(change === '101' ? [] : ['00123', 'A-1']);
    if (change === '100')
      await world.warehouse('update sync.dead_letters set resolved_at = now(), is_discarded = true');
  }
  await world.ends(0, 'forget order 00123 --apply');
  const payload = `select payload from sync.dead_letters where key = '00123'`;
  expect(await world.warehouse(payload)).toEqual([{ payload: { other_code: '123' } }]);
  // The shop gives the second ones another code.
  await world.shop(`update o set code = 'B' || length(code), updated_at = now() where code in ('00123', 'A-1');
    update l set order_code = 'B' || length(order_code) where order_code in ('00123', 'A-1')`);
  await world.syncDaily(1);
  expect(await keys(world)).toEqual([]);
  expect(await world.atService(contents)).toHaveLength(4);
});

test('an order that is shown by a code that the shop does not have is mailed once', async ({ world }) => {
  await world.place(of('2026-EU-01', 'kim', 1), of('2026-EU-02', 'lee', 3));
  const cuts = () => folds(world, (code, method) => (method === 'POST' ? code.slice(0, 8) : code));
  cuts();
  await world.sync();
  expect(mailed(world)).toHaveLength(2);
  const letters = ['2026-EU-01', '2026-EU-02'].map((key) => ({ key, reason: expect.stringContaining('"2026-EU-"') }));
  expect(await world.openDeadLetters()).toMatchObject(letters);
  cuts();
  await world.syncDaily(2);
  expect(mailed(world)).toEqual([]);
  expect(await world.openDeadLetters()).toMatchObject(letters);
  // The shop gives them codes that the service keeps.
  await world.shop(
    `update o set code = right(code, 2), updated_at = now(); update l set order_code = right(order_code, 2)`,
  );
  await world.syncDaily(1);
  expect(await keys(world)).toEqual([]);
  expect(mailed(world)).toHaveLength(2);
});

test('an order whose code the shop corrects after a 422 or 500 is sent with its customer', async ({ world }) => {
  await world.place(of('T-422 ', 'kim', 1), of('T-500 ', 'lee', 1));
  world.serviceRule((request) => (isPost(request) ? { status: Number(request.form.get('code')?.slice(2)) } : 'pass'));
  expect(await world.sync()).toMatchObject({ orders_failed: 2 });
  await world.shop('update o set code = trim(code), updated_at = now(); update l set order_code = trim(order_code)');
  world.serviceRule(() => 'pass');
  await world.syncDaily(3);
  expect(await world.atService(customers)).toEqual([customer('kim'), customer('lee')]);
  expect(await keys(world)).toEqual([]);
});

test.for(['off', 'send'] as const)(
  'one of two codes that are one order is cancelled: deletes %s',
  async (deletes, { openWorld }) => {
    const world = await openWorld({ environment: { ORDER_DELETES: deletes } });
    const syncs = async () => {
      await world.timePasses('1 day');
      folds(world, lower);
      await world.sync();
    };
    await world.place(of('xK3f', 'kim', 1), of('yK3f', 'min', 1));
    await syncs();
    await world.place(of('Xk3F', 'lee', 3), of('Yk3F', 'son', 3));
    for (let run = 1; run <= 2; run += 1) await syncs();
    expect(await world.openDeadLetters()).toHaveLength(2);
    // The first code of one pair, the second of the other.
    await world.shop(`update o set deleted_at = now() where code in ('xK3f', 'Yk3F');
      update o set total_price = 7 where deleted_at is null; update o set updated_at = now()`);
    for (let run = 1; run <= 2; run += 1) await syncs();
    // The first order of a pair loses its contact, or is deleted. The second has nothing at the service, and the first
    // goes on.
    const left = deletes === 'send' ? customer('lee') : { user_code: 'kim', user_email: null };
    expect(await world.atService(customers)).toEqual([left, customer('min')]);
    expect(await keys(world)).toEqual(deletes === 'off' ? ['Xk3F'] : []);
  },
);
