import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'vitest';
import { runCli, startHere } from '../harness/cli.ts';
import { orderTest as test } from '../harness/order-test.ts';
import type { OrderWorld } from '../harness/order-world.ts';
import type { Fate, Rule } from '../harness/proxy.ts';
import { line, order } from '../harness/shop-orders.ts';

const contacts = 'select code, user_email, user_phone from reference_service.orders order by code';
const touchAll = 'update o set total_price = total_price + 1, updated_at = now()';

test('a query that gets its e-mail column later mails nobody of the orders that were pushed before', async ({
  world,
}) => {
  await world.shop(`insert into o (code, created_at, user_email)
    select 'O' || n, now() - interval '300 days', 'customer' || n || '@example.com' from generate_series(1, 20) n`);
  const folder = world.environment.SHOP_SQL_DIR ?? '';
  await writeFile(join(folder, 'orders.sql'), 'select code, created_at, updated_at, total_price from o');
  // Pushed while they were young.
  await world.sync({ now: () => new Date(Date.now() - 299 * 86_400_000) });
  expect(await world.atService(contacts)).toHaveLength(20);

  await rm(join(folder, 'orders.sql'));
  await writeFile(join(folder, 'orders.sql'), 'select * from o');
  const backfill = await runCli(['backfill', 'orders'], world.environment);
  expect(backfill).toMatchObject({ status: 0 });
  expect(backfill.stderr).toContain('nobody is mailed');
  await world.shop(touchAll);
  await world.sync();
  const sent = await world.atService<{ user_email: string | null }>(contacts);
  expect(sent.filter((order) => order.user_email !== null)).toEqual([]);
});

test('an address that is filled in late is sent for a young order and withheld for an old one', async ({ world }) => {
  await world.shop(`insert into o (code, created_at) values
    ('OLD', now() - interval '31 days'), ('YOUNG', now() - interval '2 days')`);
  await world.sync();
  await world.shop(
    `update o set user_email = lower(code) || '@example.com', user_phone = '010-0000-0000', updated_at = now()`,
  );
  await world.sync();
  expect(await world.atService(contacts)).toEqual([
    { code: 'OLD', user_email: null, user_phone: null },
    { code: 'YOUNG', user_email: 'young@example.com', user_phone: '010-0000-0000' },
  ]);
});

test('an old order that was deleted and is restored is made again without contact', async ({ openWorld }) => {
  const world = await openWorld({ environment: { ORDER_DELETES: 'send' } });
  await world.shop(
    `insert into o (code, created_at, user_email) values ('R', now() - interval '20 days', 'r@example.com')`,
  );
  await world.sync();
  expect(await world.atService(contacts)).toMatchObject([{ user_email: 'r@example.com' }]);
  await world.shop('update o set deleted_at = now(), updated_at = now()');
  await world.sync();
  expect(await world.atService(contacts)).toEqual([]);
  await world.shop(`update o set deleted_at = null, created_at = now() - interval '400 days', updated_at = now()`);
  await world.sync();
  expect(await world.atService(contacts)).toEqual([{ code: 'R', user_email: null, user_phone: null }]);
});

test('an old order that is pushed again goes without contact: the service keeps what it has, and learns none anew', async ({
  world,
}) => {
  await world.place(order('A', { user_email: 'a@example.com' }), order('B', { user_email: 'b@example.com' }));
  await world.sync();
  await world.shop(`update o set created_at = now() - interval '90 days', total_price = 7, updated_at = now()`);
  await world.atService(`delete from reference_service.orders where code = 'B'`);
  world.serviceRule(() => 'pass');
  await world.sync();
  const posts = world.requests().filter((one) => one.method === 'POST' && one.path === '/v1/orders');
  expect(posts.map((one) => [one.form.get('code'), one.form.has('user_email')]).sort()).toEqual([
    ['A', false],
    ['B', false],
  ]);
  expect(await world.atService(contacts)).toMatchObject([{ user_email: 'a@example.com' }, { user_email: null }]);

  // The order that was made again without contact stays without, however often it changes.
  await world.shop(touchAll);
  await world.sync();
  expect(await world.atService(contacts)).toMatchObject([{ user_email: 'a@example.com' }, { user_email: null }]);
  // Unless somebody asks for it.
  expect(await runCli(['backfill', 'orders', '--with-email'], world.environment)).toMatchObject({ status: 0 });
  expect(await world.atService(contacts)).toMatchObject([
    { user_email: 'a@example.com' },
    { user_email: 'b@example.com' },
  ]);
});

test('addresses that the service has erased, or that were corrected there, are not sent again for an old order', async ({
  world,
}) => {
  await world.place(
    order('A', { user_email: 'a@example.com', user_phone: '010-1234-5678' }),
    order('B', { user_email: 'b@example.com', user_phone: '010-2' }),
    order('C', { user_email: 'c@example.com', user_phone: '010-3' }),
  );
  await world.sync();
  await world.atService(`update reference_service.orders set user_email = null, user_phone = null where code = 'A'`);
  await world.atService(`update reference_service.orders set user_email = 'right@example.com' where code = 'B'`);
  await world.shop(`update o set created_at = now() - interval '90 days', total_price = 7, updated_at = now()`);
  const backfill = await runCli(['backfill', 'orders'], world.environment);
  expect(backfill).toMatchObject({ status: 0 });
  const corrected = [
    { code: 'A', user_email: null, user_phone: null },
    { code: 'B', user_email: 'right@example.com', user_phone: '010-2' },
    { code: 'C', user_email: 'c@example.com', user_phone: '010-3' },
  ];
  expect(await world.atService(contacts)).toEqual(corrected);
  await world.shop(touchAll);
  await world.sync();
  expect(await world.atService(contacts)).toEqual(corrected);
  const verified = await runCli(['verify', 'orders', '--repair'], world.environment);
  expect(verified).toMatchObject({ status: 0 });
  expect(await world.atService(contacts)).toEqual(corrected);
});

test('an old order does not become young by a clock of this machine that was set back', async ({ world }) => {
  await world.shop(`insert into o (code, created_at, user_email) values
    ('OLD', now() - interval '60 days', 'old@example.com'), ('YOUNG', now() - interval '2 days', 'young@example.com')`);
  await world.sync({ now: () => new Date(Date.now() - 50 * 86_400_000) });
  expect(await world.atService(contacts)).toMatchObject([{ user_email: null }, { user_email: 'young@example.com' }]);
});

test('an order dated more than a day ahead goes without contact, now and later, and preview and doctor say why', async ({
  world,
}) => {
  await world.shop(`insert into o (code, created_at, user_email) values
    ('2099', '2099-01-01', 'far@example.com'), ('SOON', now() + interval '20 hours', 'soon@example.com')`);
  const previewed = await runCli(['preview', 'order', '2099'], world.environment);
  expect(previewed.stdout).toContain('or its created_at lies in the future');
  const doctor = await runCli(['doctor'], world.environment);
  expect(doctor.stdout).toContain('2 of 2 rows have a created_at in the future');
  await world.sync();
  expect(await world.atService(contacts)).toEqual([
    { code: '2099', user_email: null, user_phone: null },
    { code: 'SOON', user_email: 'soon@example.com', user_phone: null },
  ]);
  await world.shop(touchAll);
  await world.sync();
  expect(await world.atService(contacts)).toMatchObject([{ user_email: null }, { user_email: 'soon@example.com' }]);
});

test('a contact that another integration left at the service is cleared when the shop has none', async ({ world }) => {
  await world.atService(`insert into reference_service.orders (code, user_email, user_phone, total_price, created_at, updated_at)
    values ('X', 'left@example.com', '010', 1, now(), now())`);
  await world.place(order('X'));
  await world.sync();
  expect(await world.atService(contacts)).toEqual([{ code: 'X', user_email: null, user_phone: null }]);
});

test('a service that keeps what the shop cleared is named in a dead letter and by explain', async ({ world }) => {
  await world.place(order('K', { user_email: 'k@example.com' }));
  await world.sync();
  await world.shop(`update o set user_email = null, updated_at = now()`);
  // Of what was never sent a phone number is named, and not what the service shows in place of a name.
  const service = { id: 1, code: 'K', username: 'Guest', phone: '010-9', user_email: 'k@example.com', sub_orders: [] };
  world.serviceRule(({ method, path }) =>
    method === 'POST' && path === '/v1/orders' ? { status: 201, body: JSON.stringify(service) } : 'pass',
  );
  const end = await runCli(['sync', 'orders'], world.environment);
  expect(end.status).toBe(1);
  expect(await world.openDeadLetters()).toMatchObject([
    { kind: 'order', key: 'K', reason: expect.stringMatching(/^the service keeps user_phone, user_email although/) },
  ]);
  const explained = await runCli(['explain', 'order', 'K'], world.environment);
  expect(explained.stdout).toContain('user_email: the shop has nothing, the service a value');
  expect(explained.stdout).not.toContain('k@example.com');
});

test('what a backfill withheld stays withheld when the shop clears, replaces or restores it', async ({ world }) => {
  await world.place(
    order('BACK', { user_email: 'b@example.com', user_phone: '010-0000-0002' }),
    order('HALF', { user_email: 'h@example.com', user_phone: '010-0000-0003' }),
    order('NEW', { user_email: 'a@example.com', user_phone: '010-0000-0001' }),
  );
  expect(await runCli(['backfill', 'orders'], world.environment)).toMatchObject({ status: 0 });
  const sync = async () => expect(await runCli(['sync', 'orders'], world.environment)).toMatchObject({ status: 0 });
  await world.shop(`update o set user_email = 'new@example.com', updated_at = now() where code = 'NEW';
    update o set user_email = null, updated_at = now() where code = 'HALF';
    update o set user_email = null, user_phone = null, updated_at = now() where code = 'BACK'`);
  await sync();
  await world.shop(`update o set user_email = 'b@example.com', user_phone = '010-0000-0002', updated_at = now()
    where code = 'BACK'`);
  await sync();
  const none = { user_email: null, user_phone: null };
  expect(await world.atService(contacts)).toEqual([
    { code: 'BACK', ...none },
    { code: 'HALF', ...none },
    { code: 'NEW', ...none },
  ]);
  const asked = await runCli(['backfill', 'orders', '--with-email'], world.environment);
  expect(asked).toMatchObject({ status: 0, stderr: expect.stringContaining('ARE sent') });
  expect(await world.atService(contacts)).toEqual([
    { code: 'BACK', user_email: 'b@example.com', user_phone: '010-0000-0002' },
    { code: 'HALF', user_email: null, user_phone: '010-0000-0003' },
    { code: 'NEW', user_email: 'new@example.com', user_phone: '010-0000-0001' },
  ]);
});

test('a young order that a backfill or a repair pushes goes once more with its contact by the next sync, and then no more', async ({
  world,
}) => {
  await world.place(
    order('A', { user_email: 'a@example.com' }),
    order('B', { user_email: 'b@example.com' }),
    order('C'),
  );
  await world.sync();
  // The new addresses are seen by a backfill and by a repair first.
  await world.shop(`update o set user_email = 'new@example.com', total_price = 7, updated_at = now() where code = 'A';
    update o set total_price = 7, updated_at = now() where code = 'C'`);
  expect(await runCli(['backfill', 'orders'], world.environment)).toMatchObject({ status: 0 });
  await world.shop(`update o set user_email = 'new@example.com', total_price = 7, updated_at = now() where code = 'B'`);
  expect(await runCli(['verify', 'orders', '--repair'], world.environment)).toMatchObject({ status: 0 });
  expect(await world.atService(contacts)).toMatchObject([
    { user_email: 'a@example.com' },
    { user_email: 'b@example.com' },
    {},
  ]);
  // One without contact is complete already.
  expect(await world.sync()).toMatchObject({ orders_pushed: 2 });
  expect(await world.atService(contacts)).toMatchObject([
    { user_email: 'new@example.com' },
    { user_email: 'new@example.com' },
    {},
  ]);
  world.serviceRule(() => 'pass');
  await world.sync();
  expect(world.requests()).toEqual([]);
});

test('a backfill that the service refused does not let the next sync mail the customer', async ({ world }) => {
  await world.place(order('R', { user_email: 'r@example.com' }));
  world.serviceRule(({ method, path }) => (method === 'POST' && path === '/v1/orders' ? { status: 422 } : 'pass'));
  expect((await runCli(['backfill', 'orders'], world.environment)).status).toBe(1);
  world.serviceRule(() => 'pass');
  await world.timePasses('2 days');
  await world.sync();
  expect(await world.atService(contacts)).toEqual([{ code: 'R', user_email: null, user_phone: null }]);
});

test.for([
  ['stays at the service (ORDER_DELETES=off)', { ORDER_DELETES: 'off' }],
  ['is kept because it has reviews (ORDER_DELETES=send)', { ORDER_DELETES: 'send' }],
] as const)(
  'where the shop deletes an order and empties e-mail and phone in one step, both are cleared of one that %s',
  async ([, environment], { openWorld }) => {
    const world = await openWorld({ environment });
    const customer = { user_email: 'gone@example.com', user_phone: '010-1111-2222' };
    await world.place(order('EMPTY', customer, line('1', 7)), order('FULL', customer, line('1', 7)));
    await world.sync();
    await world.atService(`insert into reference_service.reviews (sub_order_id, created_at, updated_at)
    select id, now(), now() from reference_service.sub_orders`);
    // A shop may delete the order alone, or empty the customer's columns in the same statement.
    await world.shop(`update o set deleted_at = now(), updated_at = now();
    update o set user_email = null, user_phone = null where code = 'EMPTY'`);

    const verified = await runCli(['verify', 'orders'], world.environment);
    expect(verified).toMatchObject({ status: 1, stdout: expect.stringContaining('2 different') });
    for (const code of ['EMPTY', 'FULL']) {
      const { stdout } = await runCli(['explain', 'order', code], world.environment);
      expect(stdout).toContain('user_email: the shop has nothing, the service a value');
      expect(stdout).toContain('user_phone: the shop has nothing, the service a value');
      expect(stdout).not.toContain('gone@example.com');
    }
    // A backfill would clear them too.
    const diff = await runCli(['backfill', 'orders', '--dry-run', '--diff'], world.environment);
    expect(diff.stdout).toContain('order EMPTY: would change\n  user_email: the shop has nothing, the service a value');

    expect(await runCli(['sync', 'orders'], world.environment)).toMatchObject({ status: 0 });
    const cleared = { user_email: null, user_phone: null };
    expect(await world.atService(contacts)).toEqual([
      { code: 'EMPTY', ...cleared },
      { code: 'FULL', ...cleared },
    ]);
    expect(await runCli(['verify', 'orders'], world.environment)).toMatchObject({ status: 0 });
    world.serviceRule(() => 'pass');
    await world.sync();
    expect(world.requests()).toEqual([]);
  },
);

test.for<[string, (world: OrderWorld) => Rule]>([
  ['the service refuses it', () => (request) => (request.method === 'POST' ? { status: 401 } : 'pass')],
  [
    'the shop breaks down',
    (world) => async (): Promise<Fate> => {
      await world.shop('alter table if exists o rename to gone');
      return 'pass';
    },
  ],
])(
  'a repair that breaks off because %s makes no later run send the contact of orders that it did not reach',
  async ([_, ruleOf], { world }) => {
    await world.place(order('NEWEST'));
    await world.sync();
    // Imported without a new date: no feed shows them, and they are older than a rescan reads.
    await world.shop(`insert into o (code, created_at, updated_at, user_email)
    select 'O' || n, now() - interval '20 days', now() - interval '20 days', 'customer' || n || '@example.com' from generate_series(1, 20) n`);
    const mailed = 'select user_email from reference_service.orders where user_email is not null';
    world.serviceRule(ruleOf(world));
    expect(await runCli(['verify', 'orders', '--repair'], world.environment)).toMatchObject({ status: 1 });
    world.serviceRule(() => 'pass');
    await world.shop('alter table if exists gone rename to o');
    await world.timePasses('2 days');
    expect(await runCli(['sync', 'orders'], world.environment)).toMatchObject({ status: 0 });
    expect(await world.atService(mailed)).toEqual([]);
    expect(await runCli(['verify', 'orders', '--repair'], world.environment)).toMatchObject({ status: 0 });
    expect(await world.atService('select code from reference_service.orders')).toHaveLength(21);
    await world.sync();
    expect(await world.atService(mailed)).toEqual([]);
  },
);

test('sync orders --dry-run says to how many customers the next run sends contact, and sends nothing', async ({
  world,
}) => {
  await world.place(
    order('A', { user_email: 'a@example.com' }, line('1', 7)),
    order('B', { user_email: 'a@example.com' }),
    order('C', { user_phone: '010-3' }),
    order('OLD', { user_email: 'old@example.com', created_at: new Date(Date.now() - 40 * 86_400_000) }),
  );
  const dry = async () =>
    JSON.parse((await runCli(['sync', 'orders', '--dry-run', '--json'], world.environment)).stdout);
  expect(await dry()).toMatchObject({ orders: 4, toSend: 4, requests: 5, reachable: 3, withContact: 2 });
  const { stdout } = await runCli(['sync', 'orders', '--dry-run'], world.environment);
  expect(stdout).toContain('E-mail and phone of 2 customers GO TO THE SERVICE, with orders younger than 30 days');
  expect(await world.atService(contacts)).toEqual([]);

  // A backfill says that it mails nobody, and that the sync is another matter.
  const dryBackfill = (...more: string[]) => runCli(['backfill', 'orders', '--dry-run', ...more], world.environment);
  const backfill = await dryBackfill();
  expect(backfill.stdout).toContain('it mails nobody');
  expect(backfill.stdout).toContain('npx review-sync sync orders --dry-run');
  expect(backfill.stdout).toMatch(
    /^4 orders: 4 to send, with about 5 requests; 0 others without a change\.\n.* of 3 customers of the orders to send\.\n.*\nNothing was sent or written\.\n$/s,
  );
  expect((await dryBackfill('--with-email')).stdout).toContain('the service could mail all 3 customers.');
  const day = new Date(Date.now() - 20 * 86_400_000).toISOString().slice(0, 10);
  expect((await dryBackfill('--from', day)).stdout).toMatch(/^3 orders: /);
  expect((await dryBackfill('--to', day)).stdout).toMatch(/^1 order: /);
  await world.sync();
  expect(await dry()).toMatchObject({ toSend: 0, withContact: 0 });
  expect((await runCli(['sync', 'orders', '--dry-run'], world.environment)).stdout).toContain('nobody is mailed.');
  await world.shop(`update o set total_price = 7, updated_at = now() where code in ('A', 'OLD')`);
  expect(await dry()).toMatchObject({ toSend: 2, reachable: 2, withContact: 1 });
  // What a backfill has pushed first goes without for good.
  await world.place(order('D', { user_email: 'd@example.com' }));
  await runCli(['backfill', 'orders'], world.environment);
  await world.shop(touchAll);
  expect(await dry()).toMatchObject({ toSend: 5, reachable: 4, withContact: 2 });
});

test('dead-letters retry after a backfill of some days pushes what it names, and no other order of the shop', async ({
  world,
}) => {
  const days = (n: number) => new Date(Date.now() - n * 86_400_000);
  const dayBefore = (n: number) => days(n).toISOString().slice(0, 10);
  await world.place(
    order('BAD', { user_email: 'bad@example.com', created_at: days(20), total_price: -1e15 }, line('1', 1)),
    order('YOUNG', { user_email: 'young@example.com', created_at: days(2) }, line('1', 1)),
  );
  const backfill = ['backfill', 'orders', '--from', dayBefore(21), '--to', dayBefore(19)];
  expect(await runCli(backfill, world.environment)).toMatchObject({ status: 1 });
  await world.shop(`update o set total_price = 1 where code = 'BAD'`);
  expect(await runCli(['dead-letters', 'retry'], world.environment)).toMatchObject({ status: 0 });
  expect((await world.atService(contacts)).map(({ code }) => code)).toEqual(['BAD']);
});

test('on a terminal the first sync of orders says who can be mailed before it sends, and can be stopped', async ({
  world,
}) => {
  await world.place(order('A', { user_email: 'a@example.com', created_at: new Date(Date.now() - 29 * 86_400_000) }));
  const first = startHere(['sync', 'orders'], world.environment, true);
  await first.says('The first run begins in 10 seconds; Ctrl-C stops it.');
  first.kill('SIGINT');
  const { status, stderr } = await first.ended;
  expect(status).toBe(1);
  expect(stderr).toContain('E-mail and phone of 1 customer GO TO THE SERVICE, with orders younger than 30 days');
  expect(stderr).toContain('Stopped before anything was sent.');
  expect(await world.atService(contacts)).toEqual([]);

  await world.sync();
  const second = startHere(['sync', 'orders'], world.environment, true);
  const end = await second.ended;
  expect(end).toMatchObject({ status: 0 });
  expect(end.stderr).not.toContain('begins in');
});

test('a backfill --with-email that is stopped mails nobody else, whatever is run next, and goes on when it is run again', async ({
  world,
}) => {
  await world.shop(`
    insert into o (code, user_email, created_at)
    select 'O' || n, 'c' || n || '@example.com', now() - interval '300 days' from generate_series(1, 600) n`);
  const [isStopped, end] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  let posts = 0;
  world.serviceRule(async ({ path }): Promise<Fate> => {
    posts += path === '/v1/orders' ? 1 : 0;
    if (posts <= 20) return 'pass';
    isStopped.resolve();
    await end.promise;
    return { status: 500 };
  });
  const backfill = startHere(['backfill', 'orders', '--with-email'], world.environment);
  await isStopped.promise;
  backfill.kill('SIGINT');
  expect((await backfill.ended).status).toBe(1);
  end.resolve();
  world.serviceRule(() => 'pass');
  const mailed = async () =>
    (await world.atService('select from reference_service.orders where user_email is not null')).length;
  expect(await runCli(['sync', 'reviews'], world.environment)).toMatchObject({ status: 0 });
  expect(await mailed()).toBe(20);
  expect(await runCli(['backfill', 'orders', '--with-email'], world.environment)).toMatchObject({ status: 0 });
  expect(await mailed()).toBe(600);
});
