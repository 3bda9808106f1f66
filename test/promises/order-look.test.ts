import { expect } from 'vitest';
import { valuesOf } from '../harness/database.ts';
import { line, type OrderWorld, order, orderTest as test } from '../harness/order-world.ts';
import { daysAgo } from '../harness/world.ts';

const contacts = 'select user_email, user_phone from reference_service.orders order by code';

/** Orders A, B and C with a line each, pushed one after the other: their ids at the service are 1, 2 and 3. */
async function pushThree(world: OrderWorld): Promise<void> {
  for (const code of ['A', 'B', 'C']) {
    await world.place(order(code, { user_code: 'kim', user_email: `${code}@example.com` }, line('1', 7)));
    await world.sync();
  }
  world.serviceRule(() => 'pass');
}

test('preview and explain show rows, requests and differences', async ({ world }) => {
  await pushThree(world);
  await world.shop(`
    update o set total_price = 150 where code = 'A';
    update l set status = 'delivered' where order_code = 'A';
    insert into l (order_code, line_code, product_id) values ('A', '2', 9)`);
  const end = await world.says(
    'preview order A',
    /^The next run that reads this order sends:\nPOST \/v1\/orders\n\{\n {2}"code": "A",.*\nNothing was sent\.\n$/ms,
    'A@example.com',
    'The lines add up to 13 % of total_price.',
    'status: the shop has delivered, the service paid',
  );
  expect(end).toMatchObject({ status: 0, stderr: '' });

  // Explain compares with the same function, and shows nobody's name or address.
  await world.atService(`update reference_service.orders set user_phone = '010-1234-5678' where code = 'A'`);
  const { stdout: json } = await world.cli('explain order A --json');
  expect(JSON.parse(json).service).toMatchObject({ user_email: 'a value', phone: 'a value' });
  expect(json).not.toMatch(/Minji|@example.com|1234/);
  await world.shop(`update o set user_email = 'other@example.com' where code = 'A'`);
  const differs = ['total_price: the shop has 150', 'user_email: the shop has a value, the service a value'];
  expect((await world.says('explain order A', ...differs)).stdout).not.toContain('@example.com');

  // If the service cannot be asked, nobody says whether there is a difference.
  world.serviceRule(({ method, path }) => (method === 'GET' && path === '/v1/orders/1' ? { status: 403 } : 'pass'));
  const unasked = await world.says('preview order A', 'The service could not be asked about the order');
  expect(unasked).toMatchObject({ status: 1, stdout: expect.not.stringContaining('difference') });
  await world.ends(1, 'explain order A');
});

test('preview says what the next run would really send, and what it leaves out', async ({ world }) => {
  await pushThree(world);
  const notSent = 'The next run sends nothing: the order has not changed since it was pushed. A push would send:\nPOST';
  await world.says('preview order B', notSent);
  await world.shop(`insert into o (code, created_at, user_email, user_phone)
    values ('OLD', now() - interval '60 days', 'old@example.com', '010-1111-2222')`);
  const old = await world.json('preview order OLD');
  expect(old).toMatchObject({ withheld: ['user_email', 'user_phone'], requests: [{}] });
  expect(old.requests[0].body).not.toHaveProperty('user_email');
  await world.says(
    'preview order OLD',
    /Left out by the contact rule: .*\n\nThe service\nThe service has no such order\./,
  );
  await world.place(order('WAITS', line('1', 'P404'), line('2', 'P404')));
  await world.says('preview order WAITS', 'Line 1 is not sent: it waits until');
  await world.shop(`insert into o (code, order_device) values ('BAD', 'fridge'), ('BAD2', 'fridge');
    insert into l (order_code, line_code, product_id, product_options) values ('OLD', '1', 7, '[1]')`);
  await world.says('preview order BAD', 'would be a dead letter: order_device');
  const faults = [{ count: 2, example: 'BAD', reason: expect.stringContaining('order_device') }, { example: 'OLD/1' }];
  const counts = { orders: 7, unchanged: 3, toSend: 2, waitingLines: 2, faulty: 3, faults };
  expect(await world.json('sync orders --dry-run')).toMatchObject(counts);
  await world.shop(`update o set deleted_at = now() where code = 'WAITS'`);
  const deleted = 'The next run sends nothing: the shop marks the order as deleted, and ORDER_DELETES is off';
  await world.says('preview order WAITS', deleted);
  for (const command of ['preview order NONE', 'explain order NONE'])
    await world.ends(1, command, 'The shop has no order NONE.');
});

test('the diff of a backfill shows each field, is capped, and sends nothing', async ({ world }) => {
  await pushThree(world);
  await world.shop(`
    update o set total_price = 150, order_device = 'pc' where code = 'A';
    insert into o (code, order_device) values ('D', 'pc'), ('E', 'fridge');
    insert into l (order_code, line_code, product_id) values ('D', '1', 9), ('D', '2', 9)`);
  const diff = 'backfill orders --dry-run --diff';
  const { status, stdout } = await world.says(
    diff,
    'order A: differs\n  total_price: the shop has 150, the service 10000 cents of KRW',
    'order D: the service does not have it\n',
    'order E: cannot be sent: order_device',
    /5 orders read, 2 of them cost no request; 3 orders looked at: 1 would be created, 1 would change, 0 .*, 1 cannot be sent/,
  );
  expect([status, stdout]).toEqual([0, expect.not.stringContaining('@example.com')]);
  expect(await world.json(`${diff} --limit 1`)).toMatchObject({ isCut: true, orders: [{}] });
  await world.says(`${diff} --limit 1`, /Only the first 1 order were looked at: .*\nNothing was sent or written\.\n$/);
  // Neither --diff nor --limit alone begins a backfill.
  for (const options of ['--diff', '--limit 100'])
    expect(await world.prints('backfill orders', ...options.split(' '))).toBe(stdout);
  // Orders are read 500 at a time. Those that cannot be sent cost no request.
  await world.shop(`insert into o (code, order_device) select 'F' || n, 'fridge' from generate_series(1, 500) as n`);
  expect((await world.json(`${diff} --limit 500`)).orders).toHaveLength(500);
  expect((await world.json('verify orders')).unknown).toHaveLength(20);
  expect(world.writes()).toEqual([]);
});

test('verify finds what differs or is missing, and repairs it without any address', async ({ world }) => {
  await pushThree(world);
  await world.says('verify orders', 'Shop and service agree in all that could be compared.');
  await world.atService(`update reference_service.sub_orders set status = 'lost', price = 1 where order_id = 1`);
  await world.atService(`delete from reference_service.orders where code = 'B'`);
  await world.place(order('NEW', { user_email: 'new@example.com' }));
  await world.shop(`update o set order_device = 'pc' where code = 'A'; delete from o where code = 'C'`);
  const found = await world.json('verify orders');
  expect(found).toMatchObject({ orders: 3, equal: 0, differing: 3, notCompared: 0, extra: 1, extraCodes: ['C'] });
  const kinds = found.differences.map(({ code, kind }: Record<string, string>) => `${code} ${kind}`);
  expect(kinds).toEqual(['A differs', 'B missing', 'NEW missing']);
  const text = await world.says('verify orders', /\n\nTo push again what .*: review-sync verify orders --repair\n$/);
  expect([text.status, world.writes()]).toEqual([1, []]);

  await world.atService(`update reference_service.sub_orders set invoice = 'X' where order_id = 1`);
  let due: Promise<unknown> | undefined;
  world.serviceRule(({ method, path }) => {
    if (method === 'POST' && path === '/v1/orders')
      due ??= world.warehouse('select order_code as code from sync.order_links where due_at is not null order by 1');
    return 'pass';
  });
  const { status, stdout } = await world.cli('verify orders --repair --json');
  // If the repair broke off here, the next sync would send contact of an order that is due and was never pushed.
  expect(await due).toEqual([{ code: 'A' }, { code: 'B' }]);
  expect([status, JSON.parse(stdout)]).toMatchObject([0, { differing: 3, repair: { repaired: 3, left: 0 } }]);
  const lines = 'select distinct status, price::text, invoice from reference_service.sub_orders';
  expect(await world.atService(lines)).toEqual([{ status: 'paid', price: '10', invoice: null }]);
  expect(valuesOf(await world.atService(contacts))).toEqual(['A@example.com', null, 'C@example.com', null]);
  await world.atService('update reference_service.orders set total_price = 5');
  await world.says('verify orders --repair', /\n3 orders repaired; none differs any more\.\n$/);

  await world.shop(`update o set created_at = now() - interval '40 days' where code = 'A'`);
  await world.warehouse(`update sync.order_links set ordered_at = now() - interval '40 days' where order_code = 'A'`);
  const day = daysAgo(20).toISOString().slice(0, 10);
  expect(await world.json('verify orders --to', day)).toMatchObject({ orders: 1, extra: 0 });
  await world.shop(`delete from o where code = 'A'`);
  expect(await world.json('verify orders --from', day)).toMatchObject({ orders: 2, extraCodes: ['C'] });
  await world.ends(2, 'verify orders --from monday');
});

test('verify names contact that the service shows otherwise; the next sync sends it', async ({ world }) => {
  const contact = (code: string) => ({ user_email: `${code}@example.com`, user_phone: '010-1111-2222' });
  // The next sync must send none of the others.
  const others = ['OLD', 'WITHHELD', 'FORGOTTEN', 'DELETED'];
  await world.place(...['A', 'MASKED', 'HIDDEN', 'SPELT', ...others].map((code) => order(code, contact(code))));
  await world.sync();
  await world.warehouse(
    `update sync.order_links set contact = lower(order_code) where order_code in ('WITHHELD', 'FORGOTTEN')`,
  );
  // The shop and the service are in one database.
  for (const orders of ['o', 'reference_service.orders'])
    await world.shop(`update ${orders} set created_at = '2020-01-01T00:00:00Z' where code = 'OLD'`);
  await world.rememberDates();
  await world.shop(`update o set deleted_at = now() where code = 'DELETED'`);
  await world.atService(`
    update reference_service.orders set user_email = 'wrong@example.com', user_phone = '02-9';
    update reference_service.orders set user_email = null, user_phone = null where code in ('DELETED', 'HIDDEN');
    update reference_service.orders set user_email = 'm***@example.com', user_phone = '010-****-2222' where code = 'MASKED';
    update reference_service.orders set user_email = 'SPELT@EXAMPLE.com', user_phone = '01011112222' where code = 'SPELT'`);
  const found = await world.says(
    'verify orders',
    /^8 orders of the shop: 7 the same, 1 different, 0 not compared\.\n\norder A: differs\n {2}user_email: /,
    '  user_phone: the shop has a value, the service a value\n',
  );
  expect(found.status).toBe(1);
  expect(found.stdout + (await world.prints('verify orders --json'))).not.toMatch(/@example|1111|02-9/);

  const left = /0 orders repaired; 1 still differs: A\. .* are sent by the next: review-sync sync orders\n$/;
  await world.ends(1, 'verify orders --repair', left);
  expect((await world.atService(contacts))[0]).toEqual({ user_email: 'wrong@example.com', user_phone: '02-9' });
  await world.sync();
  expect((await world.atService(contacts))[0]).toEqual(contact('A'));
  await world.ends(0, 'verify orders');
});

test('verify says which orders it could not compare', async ({ world }) => {
  await pushThree(world);
  await world.shop(`insert into l (order_code, line_code, product_id, product_options) values ('A', '2', 7, '[1]');
    insert into l (order_code, line_code, product_code) values ('C', '2', 'not yet known')`);
  await world.shop(`insert into o (code, order_device) values ('E', 'fridge')`);
  world.serviceRule(({ method, path }) => (method === 'GET' && path === '/v1/orders/2' ? { status: 403 } : 'pass'));
  const counts = { orders: 4, equal: 1, differing: 0, notCompared: 3, waiting: 1 };
  expect(await world.json('verify orders')).toMatchObject(counts);
  const end = await world.says(
    'verify orders',
    ...['A: could not be compared: line 2: ', 'B: could not be compared', 'E: cannot be sent: order_device'],
    'No order is known to differ; 3 could not be compared.',
  );
  expect(end.status).toBe(1);
  expect((await world.cli('verify orders --repair')).status).toBe(1);
  world.serviceRule(() => 'pass');
  await world.atService(`update reference_service.orders set total_price = 5 where code = 'A'`);
  const left = '0 orders repaired; 1 still differs: A. See why with: review-sync explain';
  await world.ends(1, 'verify orders --repair', left);
});

test('verify counts what stays at the service, or names the command that deletes it', async ({ world }) => {
  await pushThree(world);
  await world.shop(`delete from o where code = 'C'`);
  await world.atService(`insert into reference_service.sub_orders (order_id, product_id, price, created_at, updated_at)
    select order_id, product_id, price, created_at, updated_at from reference_service.sub_orders cross join generate_series(1, 2) where order_id = 2`);
  const unmatched = { subOrders: 2, orders: 1, codes: ['B'] };
  expect(await world.json('verify orders')).toMatchObject({ equal: 2, unmatched });
  const kept = '2 sub-orders at the service without a line in the shop, kept, in 1 order: B.';
  const left = '1 pushed order left the shop: C. Nothing is deleted at the service with ORDER_DELETES=off.';
  expect((await world.says('verify orders', kept, left)).status).toBe(0);
  world.environment.ORDER_DELETES = 'send';
  const agree = /sync reconcile\. Delete older ones .*^All other orders are the same at the service\.$/ms;
  expect((await world.says('verify orders', agree)).status).toBe(1);
});

test('of an order that neither the shop nor the service has nothing is missing', async ({ world }) => {
  await pushThree(world);
  await world.shop(`update o set deleted_at = now(), updated_at = now() where code = 'B'`);
  await world.atService(`delete from reference_service.orders where code = 'B'`);
  await world.says('verify orders --repair', '1 deleted in the shop, not compared');
  expect(await world.json('preview order B')).toMatchObject({ nothingToSend: 'deleted in the shop', requests: [] });
  const orders = [{ code: 'B', kind: 'deleted' }];
  expect(await world.json('backfill orders --dry-run --diff')).toMatchObject({ orders });
  expect(world.writes()).toEqual([]);
  // An order that a repair deletes does not differ any more.
  await world.shop(`update o set deleted_at = now() where code = 'C'`);
  world.environment.ORDER_DELETES = 'send';
  const repair = { repaired: 1, left: 0, counts: { orders_deleted: 1 } };
  expect(await world.json('verify orders --repair')).toMatchObject({ repair });
});

test('if no order is found by its code, a dry run ends well and --diff exits 1', async ({ world }) => {
  await world.place(order('A', line('1', 7)), order('B', { user_email: 'b@example.com' }));
  for (const response of [{ status: 400 }, { status: 200, body: '[{"id": 7, "code": "other"}]' }]) {
    world.serviceRule(({ method, path }) => (method === 'GET' && path === '/v1/orders' ? response : 'pass'));
    await world.ends(0, 'backfill orders --dry-run', '2 to send');
    expect(world.requests()).toEqual([]);
    const why = 'could not be compared: the service does not look orders up by code';
    const { stdout } = await world.ends(1, 'backfill orders --dry-run --diff', `order A: ${why}`, `order B: ${why}`);
    expect([world.writes(), stdout]).toEqual([[], expect.not.stringMatching(/REVIEW_API_BASE_URL|b@example\.com/)]);
  }
});
