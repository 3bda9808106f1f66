import { expect } from 'vitest';
import { startHere } from '../harness/cli.ts';
import { valuesOf } from '../harness/database.ts';
import { line, order, orderTest as test } from '../harness/order-world.ts';
import { daysAgo } from '../harness/world.ts';

const contacts = 'select code, user_email, user_phone from reference_service.orders order by code';
const touchAll = 'update o set total_price = total_price + 1, updated_at = now()';

/** `age`: of the order when it was pushed, in days, and afterwards. `isLate`: the shop learns the contact only then. */
type Life = { age: [number, number?]; isLate?: true; service?: string; shown: 'own' | 'none' | 'corrected' };

const update = 'update reference_service.orders';
const lives: Record<string, Life> = {
  LATE: { age: [2], isLate: true, shown: 'own' },
  OLD_AND_LATE: { age: [31], isLate: true, shown: 'none' },
  // The clock of this machine was set back when it was pushed.
  SET_BACK: { age: [60], shown: 'none' },
  NEARLY_A_DAY_AHEAD: { age: [-0.8], shown: 'own' },
  AHEAD: { age: [-20_000], shown: 'none' },
  // The service keeps what it has, and learns none anew.
  GROWN_OLD: { age: [2, 90], shown: 'own' },
  LOST: { age: [2, 90], service: 'delete from reference_service.orders', shown: 'none' },
  ERASED: { age: [2, 90], service: `${update} set user_email = null, user_phone = null`, shown: 'none' },
  CORRECTED: { age: [2, 90], service: `${update} set user_email = 'right@example.com'`, shown: 'corrected' },
  DELETED_AND_RESTORED: { age: [20, 400], shown: 'none' },
  // By the first backfill that pushed it.
  REFUSED: { age: [2], shown: 'none' },
};

test('contact goes with young orders of the regular sync, whatever becomes of them', async ({ openWorld }) => {
  const world = await openWorld({ environment: { ORDER_DELETES: 'send' } });
  const contactOf = (code: string) => ({ user_email: `${code}@example.com`, user_phone: `010-${code}` });
  const entries = Object.entries(lives);
  const place = (...placed: typeof entries) =>
    world.place(
      ...placed.map(([code, { age, isLate }]) =>
        order(code, { created_at: daysAgo(age[0]), ...(!isLate && contactOf(code)) }),
      ),
    );
  /** The orders that went with an address since the last `serviceRule`. */
  const carriers = () =>
    new Set(world.requests().flatMap(({ form }) => (form.get('user_email') ? [form.get('code')] : [])));
  await place(...entries.slice(0, -1));
  await world.says('preview order AHEAD', 'or its created_at lies in the future');
  await world.says('doctor', '2 of 10 rows have created_at in the future');
  await world.sync({ now: () => daysAgo(50) });
  await world.shop(`update o set deleted_at = now(), updated_at = now() where code = 'DELETED_AND_RESTORED'`);
  await world.sync();
  expect(await world.atService(contacts)).toHaveLength(9);

  world.serviceRule(() => 'pass');
  for (const [code, { age, service }] of entries) {
    await world.shop('update o set created_at = $2 where code = $1', [code, daysAgo(age[1] ?? age[0])]);
    if (service) await world.atService(`${service} where code = $1`, [code]);
  }
  await world.rememberDates();
  await world.shop(`update o set user_email = code || '@example.com', user_phone = '010-' || code, deleted_at = null`);
  await world.shop(touchAll);
  // Not done: the service had lost an order.
  expect((await world.cli('backfill orders')).stderr).toContain('nobody is mailed');
  expect(await world.cli('verify orders --repair')).toMatchObject({ status: 0 });
  expect(carriers()).toEqual(new Set());
  await place(...entries.slice(-1));
  world.serviceRule(({ form }) => (form.get('code') === 'REFUSED' ? { status: 422 } : 'pass'));
  expect(await world.cli('backfill orders')).toMatchObject({ status: 1 });
  world.serviceRule(() => 'pass');
  await world.timePasses('2 days');
  await world.shop(touchAll);
  await world.sync();

  const shown = {
    own: contactOf,
    none: () => ({ user_email: null, user_phone: null }),
    corrected: (code: string) => ({ ...contactOf(code), user_email: 'right@example.com' }),
  };
  const expected = entries.map(([code, life]) => ({ code, ...shown[life.shown](code) }));
  const byCode = (a: { code: string }, b: { code: string }) => (a.code < b.code ? -1 : 1);
  const atService = async () => (await world.atService<{ code: string }>(contacts)).sort(byCode);
  expect(await atService()).toEqual(expected.sort(byCode));
  expect(carriers()).toEqual(new Set(['LATE', 'NEARLY_A_DAY_AHEAD']));
  expect(await world.cli('backfill orders --with-email')).toMatchObject({ status: 0 });
  expect(await atService()).toContainEqual({ code: 'LOST', ...contactOf('LOST') });
});

test('the first sync waits for a backfill that is open, failed or was stopped', async ({ world }) => {
  await world.place(order('A', { user_email: 'a@example.com' }));
  const waitsForOneThat = async (how: string) => {
    const stderr = expect.stringContaining(`The first sync of orders waits for a backfill of orders that ${how}`);
    expect(await world.cli('sync orders')).toMatchObject({ status: 1, stderr });
  };
  expect(await world.cli('backfill orders --detach')).toMatchObject({ status: 0 });
  await waitsForOneThat('has not ended');
  // A newer one that has ended changes nothing.
  expect(await world.cli('backfill orders --from 2000-01-01 --to 2000-01-01')).toMatchObject({ status: 0 });
  await waitsForOneThat('has not ended');
  await world.warehouse(`update sync.runs set finished_at = now(), outcome = 'incomplete', reason = 'steps-failed'
    where job = 'backfill-orders'`);
  await waitsForOneThat('failed');
  const backfill = startHere(['backfill', 'orders'], world.environment);
  world.serviceRule(() => {
    backfill.kill('SIGINT');
    return { status: 503 };
  });
  expect(await backfill.ended).toMatchObject({ status: 1, stderr: expect.stringContaining('Interrupted') });
  world.serviceRule(() => 'pass');
  // One with e-mail says nothing about the customers that the stopped one has not reached.
  expect(await world.cli('backfill orders --with-email --to 2000-01-01')).toMatchObject({ status: 0 });
  await waitsForOneThat('was stopped');
  expect(await world.atService(contacts)).toEqual([]);
  expect(await world.run('backfill-orders')).toMatchObject({ outcome: 'done' });
  expect(await world.run('sync-orders')).toMatchObject({ outcome: 'done' });
  expect(await world.atService(contacts)).toEqual([{ code: 'A', user_email: null, user_phone: null }]);
});

test('a backfill of a day without orders lets the first sync begin', async ({ world }) => {
  await world.place(order('A', { user_email: 'a@example.com' }));
  await world.cli('backfill orders --detach');
  const [{ id } = {}] = await world.warehouse<{ id: string }>('select id from sync.runs');
  expect(await world.cli(`runs end ${id}`)).toMatchObject({ status: 0 });
  const { stderr } = await world.cli('sync orders');
  const [command = ''] = /backfill orders --from [\d-]+ --to [\d-]+/.exec(stderr) ?? [];
  expect(await world.cli(command)).toMatchObject({ status: 0 });
  expect(await world.cli('sync orders')).toMatchObject({ status: 0 });
  expect(await world.atService(contacts)).toMatchObject([{ user_email: 'a@example.com' }]);
});

test('after a backfill or a repair a young order goes once more with its contact', async ({ world }) => {
  const emails = async () =>
    valuesOf(await world.atService('select user_email from reference_service.orders order by code'));
  await world.place(
    order('A', { user_email: 'a@example.com' }),
    order('B', { user_email: 'b@example.com' }),
    order('C'),
  );
  await world.sync();
  // A backfill and a repair see the new addresses. No sync does: their dates are before what it reads.
  const change = (code: string, more = '') =>
    world.shop(`update o set total_price = 7, updated_at = now() - interval '1 year' ${more} where code = '${code}'`);
  const email = `, user_email = 'new@example.com'`;
  await change('A', email);
  await change('C');
  expect(await world.run('backfill-orders')).toMatchObject({ outcome: 'done' });
  await change('B', email);
  // Not done: the addresses are left to the next sync.
  expect(await world.cli('verify orders --repair')).toMatchObject({ status: 1 });
  expect(await emails()).toEqual(['a@example.com', 'b@example.com', null]);
  // One without contact is complete already.
  expect(await world.sync()).toMatchObject({ orders_pushed: 2 });
  expect(await emails()).toEqual(['new@example.com', 'new@example.com', null]);
  world.serviceRule(() => 'pass');
  await world.sync();
  expect(world.requests()).toEqual([]);
});

test('a retry of a dead letter before the first sync mails nobody', async ({ world }) => {
  await world.place(order('A', { user_email: 'a@example.com' }));
  await world.warehouse(`insert into sync.dead_letters (kind, key, order_code, reason, payload)
    values ('order', 'A', 'A', 'bad', '{}')`);
  expect(await world.cli('dead-letters retry')).toMatchObject({ status: 0 });
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
  await world.says(
    'backfill orders --dry-run',
    ...['it mails nobody', 'review-sync sync orders --dry-run'],
    /^4 orders: 4 to send, with about 5 requests; 0 others without a change\.\n.* of 3 customers of the orders to send\.\n.*\nNothing was sent or written\.\n$/s,
  );
  await world.says('backfill orders --dry-run --with-email', 'the service could mail all 3 customers.');
  const day = daysAgo(20).toISOString().slice(0, 10);
  await world.says(`backfill orders --dry-run --to ${day}`, /^1 order: /);
  await world.sync();
  await world.says('sync orders --dry-run', 'nobody is mailed.');
  // What a backfill has pushed first goes without for good.
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
  const said =
    /E-mail and phone of 1 customer GO TO THE SERVICE, .* younger than 30 days.*Stopped before anything was sent/s;
  expect(await first.ended).toMatchObject({ status: 1, stderr: expect.stringMatching(said) });
  expect(await world.atService(contacts)).toEqual([]);

  await world.sync();
  const stderr = expect.not.stringContaining('begins in');
  expect(await startHere(['sync', 'orders'], world.environment, true).ended).toMatchObject({ status: 0, stderr });
});

test('an order that grows old while it is pushed is sent without contact from then on', async ({ world }) => {
  await world.place(order('A', { user_email: 'a@example.com' }, line('1', 7)));
  let isLater = false;
  world.serviceRule(({ method, path }) => {
    if (isLater || method !== 'POST' || !path.endsWith('/sub_orders')) return 'pass';
    isLater = true;
    return 'lose';
  });
  await world.sync({ now: () => new Date(Date.now() + (isLater ? 40 : 0) * 86_400_000) });
  const posts = world.requests().filter(({ path }) => path === '/v1/orders');
  expect(posts.map(({ form }) => form.get('user_email'))).toEqual(['a@example.com', null]);
});
