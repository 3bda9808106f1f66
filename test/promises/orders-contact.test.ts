import { expect } from 'vitest';
import { syncCatalog } from '../../jobs/sync-catalog.ts';
import { startRun } from '../../src/runs/start-run.ts';
import { findRun } from '../../src/warehouse/runs/runs.ts';
import { startCli, startHere, until } from '../harness/cli.ts';
import { line, order, orderTest as test } from '../harness/order-world.ts';
import { noSchedules } from '../harness/world.ts';

const contacts = 'select code, user_email, user_phone from reference_service.orders order by code';
const touchAll = 'update o set total_price = total_price + 1, updated_at = now()';

/** `age`: of the order when it was pushed, in days, and afterwards. `isLate`: the shop learns the contact only then. */
type Life = { age: [number, number?]; isLate?: true; service?: string; shown: 'own' | 'none' | 'corrected' };

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
  ERASED: {
    age: [2, 90],
    service: 'update reference_service.orders set user_email = null, user_phone = null',
    shown: 'none',
  },
  CORRECTED: {
    age: [2, 90],
    service: `update reference_service.orders set user_email = 'right@example.com'`,
    shown: 'corrected',
  },
  DELETED_AND_RESTORED: { age: [20, 400], shown: 'none' },
  // By the first backfill that pushed it.
  REFUSED: { age: [2], shown: 'none' },
};

test('contact goes with young orders of the regular sync, whatever becomes of them', async ({ openWorld }) => {
  const world = await openWorld({ environment: { ORDER_DELETES: 'send' } });
  const contactOf = (code: string) => ({ user_email: `${code}@example.com`, user_phone: `010-${code}` });
  const daysAgo = (days: number) => new Date(Date.now() - days * 86_400_000);
  const entries = Object.entries(lives);
  const ordersOf = (some: typeof entries) =>
    some.map(([code, { age, isLate }]) =>
      order(code, { created_at: daysAgo(age[0]), ...(!isLate && contactOf(code)) }),
    );
  const { cli } = world;
  /** The orders that went with an address since the last `serviceRule`. */
  const carriers = () =>
    new Set(world.requests().flatMap(({ form }) => (form.get('user_email') ? [form.get('code')] : [])));
  await world.place(...ordersOf(entries.filter(([code]) => code !== 'REFUSED')));
  expect((await cli('preview', 'order', 'AHEAD')).stdout).toContain('or its created_at lies in the future');
  expect((await cli('doctor')).stdout).toContain('2 of 10 rows have created_at in the future');
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
  expect((await cli('backfill', 'orders')).stderr).toContain('nobody is mailed');
  expect(await cli('verify', 'orders', '--repair')).toMatchObject({ status: 0 });
  expect(carriers()).toEqual(new Set());
  await world.place(...ordersOf(entries.filter(([code]) => code === 'REFUSED')));
  world.serviceRule(({ form }) => (form.get('code') === 'REFUSED' ? { status: 422 } : 'pass'));
  expect(await cli('backfill', 'orders')).toMatchObject({ status: 1 });
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
  expect(await cli('backfill', 'orders', '--with-email')).toMatchObject({ status: 0 });
  expect(await atService()).toContainEqual({ code: 'LOST', ...contactOf('LOST') });
});

test('after a backfill or a repair a young order goes once more with its contact', async ({ world }) => {
  await world.place(
    order('A', { user_email: 'a@example.com' }),
    order('B', { user_email: 'b@example.com' }),
    order('C'),
  );
  await world.sync();
  // The new addresses are seen by a backfill and by a repair first.
  await world.shop(`update o set user_email = 'new@example.com', total_price = 7, updated_at = now() where code = 'A';
    update o set total_price = 7, updated_at = now() where code = 'C'`);
  expect(await world.cli('backfill', 'orders')).toMatchObject({ status: 0 });
  await world.shop(`update o set user_email = 'new@example.com', total_price = 7, updated_at = now() where code = 'B'`);
  // Not done: the addresses are left to the next sync.
  expect(await world.cli('verify', 'orders', '--repair')).toMatchObject({ status: 1 });
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

test('a retry of a dead letter before the first sync mails nobody', async ({ world }) => {
  await world.place(order('A', { user_email: 'a@example.com' }));
  await world.warehouse(`insert into sync.dead_letters (kind, key, order_code, reason, payload)
    values ('order', 'A', 'A', 'bad', '{}')`);
  expect(await world.cli('dead-letters', 'retry')).toMatchObject({ status: 0 });
  expect(await world.atService(contacts)).toEqual([{ code: 'A', user_email: null, user_phone: null }]);
});

test('a dry run says to how many customers contact would go, and sends nothing', async ({ world }) => {
  await world.place(
    order('A', { user_email: 'a@example.com' }, line('1', 7)),
    order('B', { user_email: 'a@example.com' }),
    order('C', { user_phone: '010-3' }),
    order('OLD', { user_email: 'old@example.com', created_at: new Date(Date.now() - 40 * 86_400_000) }),
  );
  const dry = async () => JSON.parse((await world.cli('sync', 'orders', '--dry-run', '--json')).stdout);
  expect(await dry()).toMatchObject({ orders: 4, toSend: 4, requests: 5, reachable: 3, withContact: 2 });
  const { stdout } = await world.cli('sync', 'orders', '--dry-run');
  expect(stdout).toContain('E-mail and phone of 2 customers GO TO THE SERVICE, with orders younger than 30 days');
  expect(await world.atService(contacts)).toEqual([]);

  // A backfill says that it mails nobody, and that the sync is another matter.
  const dryBackfill = (...more: string[]) => world.cli('backfill', 'orders', '--dry-run', ...more);
  const backfill = await dryBackfill();
  expect(backfill.stdout).toContain('it mails nobody');
  expect(backfill.stdout).toContain('review-sync sync orders --dry-run');
  expect(backfill.stdout).toMatch(
    /^4 orders: 4 to send, with about 5 requests; 0 others without a change\.\n.* of 3 customers of the orders to send\.\n.*\nNothing was sent or written\.\n$/s,
  );
  expect((await dryBackfill('--with-email')).stdout).toContain('the service could mail all 3 customers.');
  const day = new Date(Date.now() - 20 * 86_400_000).toISOString().slice(0, 10);
  expect((await dryBackfill('--from', day)).stdout).toMatch(/^3 orders: /);
  expect((await dryBackfill('--to', day)).stdout).toMatch(/^1 order: /);
  await world.sync();
  expect(await dry()).toMatchObject({ toSend: 0, withContact: 0 });
  expect((await world.cli('sync', 'orders', '--dry-run')).stdout).toContain('nobody is mailed.');
  await world.shop(`update o set total_price = 7, updated_at = now() where code in ('A', 'OLD')`);
  expect(await dry()).toMatchObject({ toSend: 2, reachable: 2, withContact: 1 });
  // What a backfill has pushed first goes without for good.
  await world.place(order('D', { user_email: 'd@example.com' }));
  await world.cli('backfill', 'orders');
  expect((await world.cli('preview', 'order', 'D')).stdout).toContain(
    'A backfill left it out before, or forget masked',
  );
  await world.shop(touchAll);
  expect(await dry()).toMatchObject({ toSend: 5, reachable: 4, withContact: 2 });
});

test('on a terminal the first sync says who can be mailed, and can be stopped', async ({ world }) => {
  await world.place(order('A', { user_email: 'a@example.com', created_at: new Date(Date.now() - 29 * 86_400_000) }));
  const first = startHere(['sync', 'orders'], world.environment, true);
  await first.says('The first run begins in 10 seconds; Ctrl-C stops it.');
  first.kill('SIGINT');
  const { status, stderr } = await first.ended;
  expect(status).toBe(1);
  expect(stderr).toContain('E-mail and phone of 1 customer GO TO THE SERVICE, with orders younger than 30 days');
  expect(stderr).toContain('Stopped before anything was sent');
  expect(await world.atService(contacts)).toEqual([]);

  await world.sync();
  const second = startHere(['sync', 'orders'], world.environment, true);
  const end = await second.ended;
  expect(end).toMatchObject({ status: 0 });
  expect(end.stderr).not.toContain('begins in');
});

test('a backfill --with-email that was killed, run again and stopped mails nobody else', async ({ openWorld }) => {
  const world = await openWorld({ environment: { TAKE_OVER_SECONDS: '3' } });
  await world.shop(`
    insert into o (code, user_email, created_at)
    select 'O' || n, 'c' || n || '@example.com', now() - interval '300 days' from generate_series(1, 600) n`);
  const backfill = ['backfill', 'orders', '--with-email'];
  const posted = () => world.requests().filter(({ path }) => path === '/v1/orders').length;
  const killed = startCli(backfill, world.environment);
  world.serviceRule(() => {
    if (posted() < 20) return 'pass';
    killed.kill('SIGKILL');
    return 'lose';
  });
  expect((await killed.ended).signal).toBe('SIGKILL');
  expect((await world.cli(...backfill, '--detach')).stdout).toMatch(/^Enqueued: /);
  world.serviceRule(() => ({ status: 500 }));
  const again = startHere(backfill, world.environment);
  await until(async () => posted() > 0);
  again.kill('SIGINT');
  expect((await again.ended).status).toBe(1);
  world.serviceRule(() => 'pass');
  const app = await world.openApp();
  const worker = startHere(['worker'], { ...world.environment, ...noSchedules, LOG_LEVEL: 'info' });
  await worker.says('worker ready');
  // The worker carries out what is started next.
  const { id } = await startRun(app, { job: syncCatalog });
  await until(async () => (await findRun(app.warehouse.db, id))?.finishedAt ?? false);
  expect(posted()).toBe(0);
  const outcomes = `select outcome, count(*)::integer as n from sync.runs where job = 'backfill-orders' group by 1`;
  expect(await world.warehouse(outcomes)).toEqual([{ outcome: 'abandoned', n: 3 }]);
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
