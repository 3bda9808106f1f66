import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { expect, onTestFinished } from 'vitest';
import { syncOrders } from '../../jobs/sync-orders.ts';
import { syncReviews } from '../../jobs/sync-reviews.ts';
import { openApp } from '../../src/app/app.ts';
import { readConfig } from '../../src/app/config.ts';
import { readChanged } from '../../src/background/apply-webhooks.ts';
import { openLog } from '../../src/base/log.ts';
import { startDueRun } from '../../src/runs/start-run.ts';
import { startReferenceService } from '../../src/sandbox/reference-service/index.ts';
import { runCli } from '../harness/cli.ts';
import { createDatabase, query } from '../harness/database.ts';
import { line, order, orderTest as test, writeQueries } from '../harness/order-world.ts';
import { startRuleProxy } from '../harness/proxy.ts';
import { daysAgo, runJob } from '../harness/world.ts';

/** Another service with such orders or reviews, until the end of the test. */
async function openOther(records = 'select') {
  const databaseUrl = await createDatabase('service');
  await query(databaseUrl, records);
  const other = await startReferenceService({ databaseUrl });
  onTestFinished(() => other.close());
  return other.url;
}
const orderOf = (code: string, daysAgo: number) => `
  insert into reference_service.orders (code, total_price, created_at, updated_at)
  values ('${code}', 1, now() - interval '${daysAgo} days', now())`;
const reviewOf = (at: string) =>
  `insert into reference_service.reviews (created_at, updated_at) values ('${at}', '${at}')`;
const belongs = expect.stringContaining('belongs to another review service');

test('a warehouse that was used with one service refuses another one', async ({ world }) => {
  await world.place(order('A'), order('B'));
  await world.done('sync-orders');
  // It has other orders with the same ids.
  const otherUrl = await openOther([1, 2].map((n) => orderOf(`other ${n}`, 0)).join(';'));
  const environment = { ...world.environment, REVIEW_API_BASE_URL: otherUrl };
  for (const command of ['sync reviews', 'verify orders --repair'])
    expect(await runCli(command.split(' '), environment)).toMatchObject({ status: 1, stderr: belongs });
  // A worker that starts while that service is down learns it by its first run.
  await using proxy = await startRuleProxy(otherUrl);
  proxy.use(() => ({ status: 503 }));
  const config = readConfig({ ...environment, REVIEW_API_BASE_URL: proxy.url });
  await using worker = await openApp(config, { log: openLog('fatal') });
  proxy.use(() => 'pass');
  expect(await runJob(worker, syncOrders)).toMatchObject({ error: belongs });
  // A webhook, which needs no run, is refused too.
  await expect(readChanged(worker, { id: 1, events: 1, attempts: 1 })).rejects.toThrow(/belongs to another/);
  expect(await runCli(['doctor'], environment)).toMatchObject({ stdout: belongs });
  await world.ends(0, 'sync orders');
});

test('no command sends anything to a service that does not say whose it is', async ({ world }) => {
  await world.place(order('A'), order('B', { user_email: 'b@example.com' }));
  world.serviceRule(({ form }) => (form.get('code') === 'B' ? { status: 422 } : 'pass'));
  expect(await world.run('sync-orders')).toMatchObject({ counts: { orders_pushed: 1, orders_failed: 1 } });
  await using proxy = await startRuleProxy(await openOther());
  proxy.use(({ path }) => (path === '/v1/orders/1' ? { status: 403 } : 'pass'));
  const environment = { ...world.environment, REVIEW_API_BASE_URL: proxy.url };
  for (const command of ['sync orders', 'dead-letters retry', 'verify orders --repair', 'verify reviews --repair'])
    expect([command, await runCli(command.split(' '), environment)]).toMatchObject([command, { status: 1 }]);
  expect(proxy.requests.filter(({ path }) => path !== '/v1/orders/1')).toEqual([]);
});

test('what was read of a service without records does not count for the next one', async ({ world }) => {
  const categories = `select 'C' as code, 'c' as name, null as parent_code, 'visible' as status`;
  await writeQueries(world.environment.SHOP_SQL_DIR, { categories });
  for (const run of ['sync-reviews', 'sync-catalog']) await world.done(run);
  await world.warehouse(`${learned};
    insert into sync.user_grade_links (user_grade_code, user_grade_id, fingerprint) values ('G', 1, '')`);
  // A gap of updates, which a first run does not read.
  await world.warehouse(`insert into sync.open_gaps (axis, start_at, end_at, kind, reason)
    values ('updated', now() - interval '2 days', now() - interval '1 day', 'failed', 'it was down')`);
  // Longer ago than a later run reads.
  const at = daysAgo(100);
  const REVIEW_API_BASE_URL = await openOther(reviewOf(at.toISOString()));
  const REVIEW_YEARS_FROM = String(at.getFullYear());
  const environment = { ...world.environment, REVIEW_API_BASE_URL, REVIEW_YEARS_FROM };
  const run = async (...command: string[]) => JSON.parse((await runCli([...command, '--json'], environment)).stdout);
  expect(await run('sync', 'reviews')).toMatchObject({ outcome: 'done', counts: { inserted: 1 } });
  expect(await run('sync', 'catalog')).toMatchObject({ counts: { categories_pushed: 1 } });
  const left = `select (select count(*)::integer from sync.product_links) as products,
    (select count(*)::integer from sync.user_grade_links) as grades,
    (select count(distinct run_id)::integer from sync.export_windows) as runs`;
  expect(await world.warehouse(left)).toEqual([{ products: 0, grades: 0, runs: 1 }]);
});

test('a run is ended although the service is another one, and the queue is down', async ({ world }) => {
  await world.place(order('A'));
  await world.done('sync-orders');
  await startDueRun(await world.openApp(), syncReviews, 'due');
  const REVIEW_API_BASE_URL = await openOther();
  const outcome = () => world.warehouse(`select outcome from sync.runs where id = 'due'`);
  const whenAsked: unknown[] = [];
  const queue = createServer(async (socket) => {
    whenAsked.push(await outcome());
    queue.close();
    socket.destroy();
  });
  await once(queue.listen(0, '127.0.0.1'), 'listening');
  const QUEUE_URL = `postgres://u@127.0.0.1:${(queue.address() as AddressInfo).port}/q`;
  Object.assign(world.environment, { REVIEW_API_BASE_URL, QUEUE_URL });
  expect(await world.cli('runs end due')).toMatchObject({ status: 0, stderr: '' });
  // The row decides, so that nobody waits for a queue that hangs.
  expect(whenAsked[0]).toEqual([{ outcome: 'abandoned' }]);
});

test('the same code and id with another date is an order of another account', async ({ world }) => {
  await world.place(order('1'));
  await world.done('sync-orders');
  const REVIEW_API_BASE_URL = await openOther(orderOf('1', 9));
  const end = await runCli(['sync', 'orders'], { ...world.environment, REVIEW_API_BASE_URL });
  expect(end).toMatchObject({ status: 1, stderr: belongs });
});

/** This goes with all else that was read of a service, if the warehouse has no record of that service. */
const learned = `insert into sync.product_links (product_code, product_id) values ('P', 1)`;
const idsOfProducts = 'select from sync.product_links';

test('a warehouse of reviews alone belongs to the service that has them', async ({ world }) => {
  await world.atService(reviewOf('2026-01-02T10:00:00Z'));
  await world.done('sync-reviews');
  // Until now through a proxy at another port.
  const moved = { ...world.environment, REVIEW_API_BASE_URL: world.serviceUrl };
  await world.warehouse(learned);
  expect(await runCli(['sync', 'reviews'], moved)).toMatchObject({ status: 0 });
  expect(await world.warehouse(idsOfProducts)).toHaveLength(1);
  const REVIEW_API_BASE_URL = await openOther(reviewOf('2026-01-03T10:00:00Z'));
  expect(await runCli(['sync', 'reviews'], { ...moved, REVIEW_API_BASE_URL })).toMatchObject({ stderr: belongs });
});

test('a new client of the service is the same one if it knows an order', async ({ world }) => {
  await world.shop(`insert into o (code, created_at)
    select 'O' || n, '2026-01-01'::timestamptz + n * interval '1 day' from generate_series(1, 50) n`);
  await world.done('backfill-orders');
  await world.atService('create table kept as table reference_service.orders');
  const lose = async (which: string) => {
    await world.atService(`insert into reference_service.orders overriding system value table kept
      on conflict do nothing; delete from reference_service.orders where ${which}`);
    await world.warehouse(`update sync.settings set service_client = 'before'`);
  };
  await world.warehouse(learned);
  for (const which of [`created_at > '2026-02-16'`, `created_at < '2026-01-06'`]) {
    await lose(which);
    expect([which, await world.cli('sync reviews')]).toMatchObject([which, { status: 0 }]);
  }
  expect(await world.warehouse(idsOfProducts)).toHaveLength(1);
  await lose('true');
  world.serviceRule(() => 'pass');
  await world.ends(
    1,
    'sync orders',
    /another client id.*orders and reviews in it were looked up, 6 in all, .* has none of them.*migrate --same-service/s,
  );
  expect(world.requests().filter(({ path }) => path.startsWith('/v1/orders/'))).toHaveLength(6);

  // Without the flag nothing is recorded.
  await world.ends(0, 'migrate');
  await world.ends(1, 'sync orders');
  await world.says('migrate --same-service', world.environment.REVIEW_API_BASE_URL ?? 'no address');
  await world.ends(0, 'sync orders');
});

const state = `select o.code, o.user_email, (select array_agg(s.product_id::integer order by s.product_id)
    from reference_service.sub_orders s where s.order_id = o.id) as products
  from reference_service.orders o order by o.code`;

test('a run that meets a lost order names the command that brings all back', async ({ world }) => {
  const products = { A: [7], CHANGED: [7, 8], OLD: [7], WITHHELD: [7], YOUNG: [9] };
  await world.place(
    ...Object.entries(products).map(([code, ids]) =>
      order(code, { user_email: `${code}@example.com` }, ...ids.map((id, at) => line(`${at + 1}`, id))),
    ),
  );
  await world.shop(`update o set created_at = created_at - interval '20 days' where code = 'OLD';
    create table later as select * from o where code = 'WITHHELD'; delete from o where code = 'WITHHELD'`);
  await world.done('sync-orders');
  await world.shop('insert into o select * from later');
  await world.done('backfill-orders');
  await world.shop('update o set created_at = $1 where code = $2', [daysAgo(90), 'OLD']);
  await world.rememberDates();
  await world.done('sync-orders');

  // As after the restoration of a backup.
  await world.atService(`delete from reference_service.orders where code <> 'A'`);
  await world.done('sync-orders');
  await world.shop(`update o set total_price = 7, updated_at = now() where code = 'CHANGED'`);
  const lost = expect.stringMatching(/The service had lost 1 order pushed before.*review-sync verify orders --repair/s);
  expect(await world.cli('sync orders')).toMatchObject({ status: 1, stderr: lost });

  await world.ends(0, 'verify orders --repair');
  expect(await world.codesAtService()).toHaveLength(5);
  // A repair sends no contact: nobody says that the order has it there.
  await world.says('explain order YOUNG', 'without e-mail and phone');
  await world.done('sync-orders');
  const expected = Object.entries(products).map(([code, products]) => {
    return { code, user_email: ['OLD', 'WITHHELD'].includes(code) ? null : `${code}@example.com`, products };
  });
  expect(await world.atService(state)).toEqual(expected);
  await world.ends(0, 'verify orders');
});
