import { expect } from 'vitest';
import { rescanOrders } from '../../jobs/rescan-orders.ts';
import { shortLimits } from '../../src/app/require-same-service.ts';
import { openReviewApi } from '../../src/review-api/index.ts';
import { freePort } from '../../src/sandbox/embedded-postgres/index.ts';
import { line, type OrderWorld, order, orders, orderTest } from '../harness/order-world.ts';
import { aDayPasses } from '../harness/service-view.ts';
import { runJob } from '../harness/world.ts';

const test = orderTest.extend('worldOptions', { environment: { ORDER_OVERLAP_MINUTES: '10', ORDER_DELETES: 'send' } });

/** Orders O1, O2 … with a line each, an hour old, pushed by a whole run, so that there is a cursor. */
async function pushOrders(world: OrderWorld, count = 5): Promise<void> {
  await world.place(...orders(count), order('NEWEST', { updated_at: new Date() }));
  await world.done('sync-orders');
  world.serviceRule(() => 'pass');
}

const rescan = (world: OrderWorld) => world.run('rescan-orders');
const dayPasses = (world: OrderWorld) => world.warehouse(aDayPasses);
/** A rescan beside the reconcile of reviews, as a user starts it; what its run of orders reports. */
async function reconcile(world: OrderWorld, ...args: string[]) {
  const end = await world.cli('sync reconcile --json', ...args);
  return { ...JSON.parse(end.stdout).runs.orders, status: end.status, all: JSON.parse(end.stdout) };
}
/** A rescan misses what the statement deletes, and a day passes. */
async function missForADay(world: OrderWorld, statement: string): Promise<void> {
  await world.shop(statement);
  await rescan(world);
  await dayPasses(world);
}

test('what the feed missed is pushed once; orders that did not change cost no request', async ({ world }) => {
  await pushOrders(world);
  const counts = { orders: 6, orders_unchanged: 6 };
  expect(await reconcile(world)).toMatchObject({ outcome: 'done', status: 0, counts, all: { counts } });
  expect(world.requests().filter(({ path }) => path.startsWith('/v1/orders'))).toEqual([]);

  // Changes without a date, an order that was committed late, and one without a date of change.
  await world.shop(`
    update l set status = 'delivered' where order_code in ('O1', 'O2'); alter table o alter updated_at drop not null;
    insert into o (code, created_at, updated_at) values ('LATE', now() - interval '2 days', now() - interval '2 days');
    insert into o (code, updated_at) values ('UNDATED', null);
    insert into l (order_code, line_code, product_id) values ('LATE', '1', 7)`);
  await world.done('sync-orders');
  expect(await world.codesAtService()).not.toContain('LATE');
  const found = { orders_pushed: 3, orders_failed: 1 };
  expect(await rescan(world)).toMatchObject({ outcome: 'incomplete', counts: found });
  expect(await world.codesAtService()).toContain('LATE');
  expect(await world.atService(`select from reference_service.sub_orders where status = 'delivered'`)).toHaveLength(2);
  const reason = 'updated_at is null, expected a value';
  expect(await world.openDeadLetters()).toMatchObject([{ key: 'UNDATED', reason }]);
});

test('a rescan reads ORDER_RESCAN_DAYS, and nothing before orders were synced', async ({ openWorld }) => {
  const world = await openWorld({ environment: { ORDER_RESCAN_DAYS: '10' } });
  await world.shop(`insert into o (code, created_at)
    select n::text, now() - make_interval(days => n) from generate_series(1, 20) n`);
  expect((await rescan(world)).counts).toEqual({});
  expect(await world.codesAtService()).toEqual([]);
  await world.run('sync-orders');
  await world.shop('update o set total_price = 7');
  expect([10, 11]).toContain((await rescan(world)).counts.orders);
  world.environment.ORDER_RESCAN_DAYS = '0';
  expect((await reconcile(world)).counts).not.toHaveProperty('orders');
});

const compact = (code: string) => code.toLowerCase().replace(' ', '');
const strip = (code: string) => code.toUpperCase().replace(/^0+/, '');
/**
 * Orders that the shop renames, and their codes at the service after that. The service trims the zeros of O2, refuses
 * o3, writes O5 in another form, and had lost O6. The shop empties a field of O4.
 */
const renamed: [from: string, to: string, atService: string][] = [
  ['O1', 'o1', 'O1'],
  ['O2', '00o2', 'O2'],
  ['O3', 'o3', 'O3'],
  ['O4', 'o4', 'O4'],
  ['O5', 'O 5', 'o5'],
  ['O6', 'o6', 'O6'],
];

test('a renamed order is not deleted as gone, whatever the service makes of its code', async ({ world }) => {
  await pushOrders(world, 9);
  await world.atService(`update reference_service.orders set code = 'o5' where code = 'O5';
    delete from reference_service.orders where code = 'O6'`);
  world.serviceRule(({ path, form }) => {
    const code = form.get('code');
    if (code === 'o3') return { status: 422 };
    if (path === '/v1/orders' && code !== null) form.set('code', code.endsWith('5') ? compact(code) : strip(code));
    return 'pass';
  });
  for (const [from, to] of renamed)
    await world.shop(`update o set code = '${to}', updated_at = now() where code = '${from}';
      update l set order_code = '${to}' where order_code = '${from}'`);
  await world.sync();
  await world.shop(`alter table o alter total_price drop not null; update o set total_price = null where code = 'o4'`);
  for (let day = 0; day < 2; day += 1) {
    await rescan(world);
    await dayPasses(world);
  }
  expect(world.writes().filter(({ method }) => method === 'DELETE')).toEqual([]);
  expect((await world.openDeadLetters()).map(({ key }) => key)).toEqual(['00o2', 'O 5', 'o1', 'o3', 'o4']);
  expect(await world.codesAtService()).toEqual(expect.arrayContaining(renamed.map(([, , atService]) => atService)));
  // The shop has neither any more.
  await world.warehouse('update sync.dead_letters set resolved_at = now(), is_discarded = true');
  await world.shop('delete from o where code = any ($1)', [renamed.map(([, to]) => to)]);
  await world.timePasses('1 day');
  await world.sync();
  // The new code of the lost one is missed for the first time.
  expect(await rescan(world)).toMatchObject({ outcome: 'done', counts: { orders_deleted: 5 } });
});

test('what vanished is deleted by a rescan that misses it a day later', async ({ world }) => {
  await pushOrders(world, 6);
  // As a process leaves it that is killed when the service has made the order: it is found by its code.
  await world.warehouse(`update sync.order_links set order_id = null, pushed_at = null where order_code = 'O2'`);
  // An order whose code differs in case only is another one, also where the column ignores case.
  await world.shop(`delete from o where code in ('O1', 'O2'); insert into o (code) values ('o1');
    insert into l (order_code, line_code, product_id) values ('o1', '1', 7);
    create extension citext; alter table o alter code type citext`);
  await rescan(world);
  await world.timePasses('23 hours 55 minutes');
  expect(await rescan(world)).toMatchObject({ outcome: 'done', counts: { orders_failed: 0 } });
  expect(await world.codesAtService()).toContain('O1');
  await world.timePasses('5 minutes');
  expect(await rescan(world)).toMatchObject({ counts: { orders_deleted: 2 } });
  expect(await rescan(world)).toMatchObject({ outcome: 'done' });
  expect(await world.codesAtService()).toEqual(['NEWEST', 'O3', 'O4', 'O5', 'O6', 'o1']);
  const links = `select from sync.order_links where absent_since is not null or order_code in ('O1', 'O2')`;
  expect(await world.warehouse(links)).toEqual([]);
  expect(await world.openDeadLetters()).toEqual([]);

  await missForADay(world, `delete from o where code in ('O3', 'O4', 'O5')`);
  let refused = 0;
  world.serviceRule(({ method }) => (method === 'DELETE' && ++refused <= 2 ? { status: 403 } : 'pass'));
  const error = expect.stringMatching(/: 2 orders, such as O[345] \(.*403.*\)\. The next rescan tries again\.$/);
  expect(await rescan(world)).toMatchObject({ outcome: 'incomplete', error });
  expect(await world.codesAtService()).toHaveLength(5);
  // Only a rescan tries again.
  expect(await world.warehouse('select from sync.order_links where due_at is not null')).toEqual([]);
  // If the allowance is used up, the next step is another one.
  await world.warehouse('update sync.settings set removals_taken_at = array_fill(now(), array[50])');
  const held = expect.stringMatching(/ \(the removals of 24 hours .*: review-sync sync reconcile --allow-removals$/);
  expect(await rescan(world)).toMatchObject({ outcome: 'incomplete', error: held });
  expect(await reconcile(world, '--allow-removals')).toMatchObject({ outcome: 'done', counts: { orders_deleted: 2 } });
});

test('over a copy of the shop that lags behind, nothing that is newer is deleted', async ({ world }) => {
  await pushOrders(world, 2);
  const now = () => ({ created_at: new Date(), updated_at: new Date() });
  await world.place(order('LATER', now(), line('1', 7)));
  await world.run('sync-orders');
  await missForADay(world, `delete from o where code in ('O1', 'LATER')`);
  const error = expect.stringMatching(/: 1 order, such as LATER \(the shop may be a copy .*\).*--allow-removals$/);
  expect(await rescan(world)).toMatchObject({ outcome: 'incomplete', error, counts: { orders_deleted: 1 } });
  expect(await world.codesAtService()).toEqual(['LATER', 'NEWEST', 'O2']);
  await world.place(order('LAST', now()));
  expect(await rescan(world)).toMatchObject({ outcome: 'done', counts: { orders_deleted: 1 } });
  expect(await world.codesAtService()).toEqual(['LAST', 'NEWEST', 'O2']);
});

test('an order that vanished without an id deletes no order of a code like its own', async ({ world }) => {
  await pushOrders(world, 2);
  await world.warehouse(`insert into sync.order_links (order_code, contact, ordered_at, absent_since)
    select 'o1', contact, ordered_at, now() - interval '2 days' from sync.order_links where order_code = 'O1'`);
  world.serviceRule(({ path, form }) => {
    if (path === '/v1/orders') form.set('code', (form.get('code') ?? '').toUpperCase());
    return 'pass';
  });
  expect(await world.done('rescan-orders')).toMatchObject({ orders_deleted_kept: 1 });
  expect(await world.codesAtService()).toContain('O1');
});

test('a rescan that is stopped while it deletes orders deletes no more of them', async ({ world }) => {
  await pushOrders(world);
  await missForADay(world, `delete from o where code <> 'NEWEST'; delete from l`);
  const stop = new AbortController();
  world.serviceRule(({ method }) => {
    if (method === 'DELETE') stop.abort();
    return 'pass';
  });
  const conclude: typeof rescanOrders.conclude = (app, run, ends) => rescanOrders.conclude(app, run, ends, stop.signal);
  const report = await runJob(await world.openApp(), { ...rescanOrders, conclude }, { allowRemovals: true });
  expect([report, world.writes()]).toMatchObject([{ outcome: 'incomplete' }, [{ method: 'DELETE' }]]);
});

test('a rescan without a connection names what it could not delete', async ({ world }) => {
  await pushOrders(world);
  await missForADay(world, `delete from o where code = 'O1'`);
  const baseUrl = `http://127.0.0.1:${await freePort()}`;
  await using api = openReviewApi({ baseUrl, clientId: 'demo', clientSecret: 'demo', ...shortLimits });
  const conclude: typeof rescanOrders.conclude = (app, ...at) => rescanOrders.conclude({ ...app, api }, ...at);
  const error = expect.stringContaining('not deleted at the service: 1 order, such as O1');
  expect(await runJob(await world.openApp(), { ...rescanOrders, conclude })).toMatchObject({ error });
});

test('a truncated table deletes nothing until somebody says that it is right', async ({ world }) => {
  await pushOrders(world);
  await world.shop('truncate o, l');
  await world.ends(1, 'sync reconcile', 'migrate --same-shop');
  await world.ends(0, 'migrate --same-shop');
  await missForADay(world, 'select');
  const error = expect.stringContaining('--allow-removals');
  expect(await rescan(world)).toMatchObject({ outcome: 'incomplete', error });
  expect(await world.codesAtService()).toHaveLength(6);
  await dayPasses(world);
  expect(await world.done('rescan-orders', { allowRemovals: true })).toMatchObject({ orders_deleted: 6 });
  expect(await world.codesAtService()).toEqual([]);
});

test('a rescan that was stopped in part, or ends on another shop, deletes nothing', async ({ openWorld }) => {
  const world = await openWorld({ environment: { ORDER_RESCAN_DAYS: '9' } });
  await pushOrders(world, 9);
  await missForADay(world, `delete from o where code = 'O1'`);
  await world.shop('alter table l rename to hidden');
  expect(await rescan(world)).not.toMatchObject({ outcome: 'done' });
  expect(await world.codesAtService()).toHaveLength(10);
  await world.shop('alter table hidden rename to l');
  expect(await rescan(world)).toMatchObject({ outcome: 'done', counts: { orders_deleted: 1 } });

  const rescanBefore = async (statement: string) =>
    runJob(await world.openApp(), {
      ...rescanOrders,
      async conclude(...at) {
        await world.shop(statement);
        return rescanOrders.conclude(...at);
      },
    });
  // The shop shows one of two again just before they are deleted.
  await missForADay(world, `delete from o where code in ('O2', 'O3')`);
  expect(await rescanBefore(`insert into o (code) values ('O2')`)).toMatchObject({ counts: { orders_deleted: 1 } });
  expect(await world.codesAtService()).toContain('O2');
  await missForADay(world, `delete from o where code = 'O2'`);
  const error = expect.stringContaining('looks like another shop');
  expect(await rescanBefore('truncate o, l')).toMatchObject({ outcome: 'incomplete', error });
  expect(await world.codesAtService()).toHaveLength(8);
});

test('what stops the rescan does not stop the reconcile of reviews, nor the other way', async ({ world }) => {
  await pushOrders(world);
  await world.shop('alter table l rename to elsewhere');
  const shopless = { status: 1, outcome: 'incomplete', all: { runs: { reviews: { outcome: 'done' } } } };
  expect(await reconcile(world)).toMatchObject(shopless);
  await world.shop(`alter table elsewhere rename to l; update l set status = 'delivered'`);
  world.serviceRule(({ path }) => (path.startsWith('/v1/reviews') ? { status: 403 } : 'pass'));
  await world.ends(
    1,
    'sync reconcile',
    /^sync reconcile: reviews: (?!done).*\nsync reconcile: orders: done\. .*5 orders/s,
  );
});

test('an unanswered deletion is made good if the shop shows the order again', async ({ world }) => {
  await pushOrders(world);
  await world.shop(`create table away as select * from o where code = 'O1'`);
  await missForADay(world, `delete from o where code = 'O1'`);
  world.serviceRule(({ method, path }) => {
    if (method === 'DELETE') return 'lose';
    const isDeleted = world.writes().some((request) => request.method === 'DELETE');
    return isDeleted && path.startsWith('/v1/orders') ? { status: 500 } : 'pass';
  });
  expect(await rescan(world)).toMatchObject({ outcome: 'incomplete', counts: { orders_deleted: 0 } });
  expect(await world.codesAtService()).not.toContain('O1');
  world.serviceRule(() => 'pass');
  await world.done('sync-orders');
  await world.shop('insert into o select * from away');
  await rescan(world);
  expect(await world.codesAtService()).toContain('O1');
});
