import { expect } from 'vitest';
import { syncOrders } from '../../jobs/sync-orders.ts';
import { startHere } from '../harness/cli.ts';
import { line, order, orderTest as test } from '../harness/order-world.ts';
import { daysAgo, runJob } from '../harness/world.ts';

const contacts = 'select code, user_email, user_phone from reference_service.orders order by code';
const touchAll = 'update o set total_price = total_price + 1, updated_at = now()';

test('the first sync waits for a backfill that is open, failed or was stopped', async ({ world }) => {
  await world.place(order('A', { user_email: 'a@example.com' }));
  const waitsForOneThat = (how: string) =>
    world.ends(1, 'sync orders', `The first sync of orders waits for a backfill of orders that ${how}`);
  await world.ends(0, 'backfill orders --detach');
  await waitsForOneThat('has not ended');
  // A newer one that has ended changes nothing.
  await world.ends(0, 'backfill orders --from 2000-01-01 --to 2000-01-01', 'nobody is mailed');
  await waitsForOneThat('has not ended');
  await world.warehouse(`update sync.runs set finished_at = now(), outcome = 'incomplete', reason = 'steps-failed'
    where job = 'backfill-orders'`);
  await waitsForOneThat('failed');
  // Before migration 0007 a run had no trigger.
  await world.warehouse(`update sync.runs set trigger = null where job = 'backfill-orders'`);
  await waitsForOneThat('failed');
  const backfill = startHere(['backfill', 'orders'], world.environment);
  world.serviceRule(() => {
    backfill.kill('SIGINT');
    return { status: 503 };
  });
  expect(await backfill.ended).toMatchObject({ status: 1, stderr: expect.stringContaining('Interrupted') });
  world.serviceRule(() => 'pass');
  // One with e-mail says nothing about the customers that the stopped one has not reached.
  await world.ends(0, 'backfill orders --with-email --to 2000-01-01');
  await waitsForOneThat('was stopped');
  expect(await world.atService(contacts)).toEqual([]);
  await world.done('backfill-orders');
  await world.done('sync-orders');
  expect(await world.atService(contacts)).toEqual([{ code: 'A', user_email: null, user_phone: null }]);
});

test('a first sync that has begun sends no further batch once a backfill begins', async ({ openWorld }) => {
  const world = await openWorld({ environment: { ORDER_BATCH_SIZE: '1' } });
  await world.place(order('A', { updated_at: daysAgo(2) }), order('B', { user_email: 'b@example.com' }));
  const next: typeof syncOrders.next = async (...at) => {
    await world.ends(0, 'backfill orders --detach');
    return syncOrders.next?.(...at);
  };
  const error = expect.stringContaining('waits for a backfill of orders that has not ended');
  expect(await runJob(await world.openApp(), { ...syncOrders, next })).toMatchObject({ error });
  expect(await world.codesAtService()).toEqual(['A']);
});

test.for([
  ['backfill orders', null],
  ['dead-letters retry', 'a@example.com'],
] as const)(
  'whom a failed first sync missed has, after %s, the contact %s',
  async ([command, user_email], { world }) => {
    await world.place(order('A', { user_email: 'a@example.com' }));
    world.serviceRule(() => ({ status: 403 }));
    await world.ends(1, 'sync orders');
    await world.warehouse('update sync.settings set orders_cursor = null');
    world.serviceRule(() => 'pass');
    await world.ends(0, command);
    await world.shop(touchAll);
    await world.ends(0, 'sync orders');
    expect(await world.atService(contacts)).toMatchObject([{ user_email }]);
  },
);

test('a backfill of a day without orders lets the first sync begin', async ({ world }) => {
  await world.place(order('A', { user_email: 'a@example.com' }));
  await world.cli('backfill orders --detach');
  const [{ id } = {}] = await world.warehouse<{ id: string }>('select id from sync.runs');
  await world.ends(0, `runs end ${id}`);
  const { stderr } = await world.cli('sync orders');
  const [command = ''] = /backfill orders --from [\d-]+ --to [\d-]+/.exec(stderr) ?? [];
  for (const next of [command, 'sync orders']) await world.ends(0, next);
  expect(await world.atService(contacts)).toMatchObject([{ user_email: 'a@example.com' }]);
});

test('after a backfill or a repair a young order goes once more with its contact', async ({ world }) => {
  const emails = async () => (await world.atService(contacts)).map(({ user_email }) => user_email);
  const of = (name: string) => ({ user_email: `${name}@example.com` });
  await world.place(order('A', of('a')), order('B', of('b')), order('C'));
  await world.sync();
  // A backfill and a repair see the new addresses. No sync does: their dates are before what it reads.
  const change = (code: string, more = '') =>
    world.shop(`update o set total_price = 7, updated_at = now() - interval '1 year' ${more} where code = '${code}'`);
  const email = `, user_email = 'new@example.com'`;
  await change('A', email);
  await change('C');
  await world.done('backfill-orders');
  await change('B', email);
  // Not done: the addresses are left to the next sync.
  await world.ends(1, 'verify orders --repair');
  expect(await emails()).toEqual(['a@example.com', 'b@example.com', null]);
  // One without contact is complete already.
  expect(await world.sync()).toMatchObject({ orders_pushed: 2 });
  expect(await emails()).toEqual(['new@example.com', 'new@example.com', null]);
  world.serviceRule(() => 'pass');
  await world.sync();
  expect(world.requests()).toEqual([]);
});

test('an address changed while no contact is sent goes once it may be sent again', async ({ world }) => {
  await world.place(order('A', { user_email: 'old@example.com' }));
  await world.sync();
  await world.shop(`update o set user_email = 'new@example.com', updated_at = now()`);
  const stopped = { contactMaxAgeDays: 0 };
  expect(await world.sync(stopped)).toMatchObject({ orders_pushed: 1 });
  expect(await world.sync(stopped)).toMatchObject({ orders_unchanged: 1 });
  expect(await world.atService(contacts)).toMatchObject([{ user_email: 'old@example.com' }]);
  await world.sync();
  expect(await world.atService(contacts)).toMatchObject([{ user_email: 'new@example.com' }]);
  expect(await world.sync()).toMatchObject({ orders_unchanged: 1 });
});

test('a retry of a dead letter before the first sync mails nobody', async ({ world }) => {
  await world.place(order('A', { user_email: 'a@example.com' }));
  await world.warehouse(`insert into sync.dead_letters (kind, key, order_code, reason, payload)
    values ('order', 'A', 'A', 'bad', '{}')`);
  await world.ends(0, 'dead-letters retry');
  expect(await world.atService(contacts)).toEqual([{ code: 'A', user_email: null, user_phone: null }]);
});

test('a dry run says to how many customers contact would go, and sends nothing', async ({ world }) => {
  await world.place(
    order('A', { user_email: 'a@example.com' }, line('1', 7)),
    order('B', { user_email: 'a@example.com' }),
    order('C', { user_phone: '010-3' }),
    order('OLD', { user_email: 'old@example.com', created_at: daysAgo(40) }),
  );
  const dry = async () => await world.json('sync orders --dry-run');
  expect(await dry()).toMatchObject({ orders: 4, toSend: 4, requests: 5, reachable: 3, withContact: 2 });
  const go = 'E-mail and phone of 2 customers GO TO THE SERVICE, with orders younger than 30 days';
  await world.says('sync orders --dry-run', go);
  expect(await world.atService(contacts)).toEqual([]);

  // A backfill says that it mails nobody, and that the sync is another matter.
  const said = /^4 orders: 4 to send, with about 5 requests; .* of 3 customers .*\nNothing was sent or written\.\n$/s;
  await world.says('backfill orders --dry-run', said, 'it mails nobody', 'review-sync sync orders --dry-run');
  await world.says('backfill orders --dry-run --with-email', 'the service could mail all 3 customers.');
  const day = daysAgo(20).toISOString().slice(0, 10);
  await world.says(`backfill orders --dry-run --to ${day}`, /^1 order: /);
  await world.sync();
  await world.says('sync orders --dry-run', 'nobody is mailed.');
  // If a backfill pushed an order first, the order goes without contact for good.
  await world.place(order('D', { user_email: 'd@example.com' }));
  await world.run('backfill-orders');
  await world.shop(touchAll);
  expect(await dry()).toMatchObject({ toSend: 5, reachable: 4, withContact: 2 });
});

test('on a terminal the first sync says who can be mailed, and can be stopped', async ({ world }) => {
  await world.place(order('A', { user_email: 'a@example.com', created_at: daysAgo(29) }));
  const first = startHere(['sync', 'orders'], world.environment, true);
  await first.says('The first run begins in 10 seconds; Ctrl-C stops it.');
  first.kill('SIGINT');
  const stderr = expect.stringMatching(/E-mail and phone of 1 customer GO TO THE .*Stopped before anything was sent/s);
  expect(await first.ended).toMatchObject({ status: 1, stderr });
  expect(await world.atService(contacts)).toEqual([]);

  await world.sync();
  const { ended } = startHere(['sync', 'orders'], world.environment, true);
  expect(await ended).toMatchObject({ status: 0, stderr: expect.not.stringContaining('begins in') });
});

test('an old order goes without contact, also if this machine’s clock was set back', async ({ world }) => {
  await world.place(order('A', { user_email: 'a@example.com' }, line('1', 7)));
  let isLater = false;
  world.serviceRule(({ method, path }) => {
    if (isLater || method !== 'POST' || !path.endsWith('/sub_orders')) return 'pass';
    isLater = true;
    return 'lose';
  });
  await world.sync({ now: () => new Date(Date.now() + (isLater ? 40 : 0) * 86_400_000) });
  await world.place(order('B', { user_email: 'b@example.com', created_at: daysAgo(60) }));
  await world.sync({ now: () => daysAgo(50) });
  const posts = world.requests().filter(({ path }) => path === '/v1/orders');
  // The first order grows old between its two requests.
  expect(posts.map(({ form }) => form.get('user_email'))).toEqual(['a@example.com', null, null]);
});
