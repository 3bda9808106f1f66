import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, vi } from 'vitest';
import { checkService } from '../../src/app/doctor/check-service.ts';
import { checkShop } from '../../src/app/doctor/check-shop.ts';
import { parseInstant, type Span } from '../../src/base/time/span.ts';
import { withRedis } from '../../src/queue/connection.ts';
import { openWarehouse } from '../../src/warehouse/index.ts';
import { readWarehouseFacts } from '../../src/warehouse/warehouse-facts.ts';
import { runCli } from '../harness/cli.ts';
import { createDatabase } from '../harness/database.ts';
import { createOrderShop, orderShopQueries, sampleShopQueries, writeQueries } from '../harness/order-world.ts';
import { redisTest } from '../harness/queues.ts';
import { startRedis } from '../harness/servers.ts';
import { openWorld, worldTest as test, type World } from '../harness/world.ts';
import { client, json, quick, tinyService } from '../review-api/tiny-service.ts';

const plausible = { start: parseInstant('2020-01-01T00:00:00Z'), end: parseInstant('2026-03-02T00:00:00Z') } as Span;

type Found = { area: string; level: string; what: string; hint?: string };

/** What doctor finds in this world, but for what is well. */
async function ills(world: World, environment: Record<string, string> = {}) {
  const { status, stdout } = await runCli(['doctor', '--json'], { ...world.environment, ...environment });
  const { findings } = JSON.parse(stdout) as { findings: Found[] };
  const said = findings
    .filter(({ level }) => level !== 'ok')
    .map(({ area, level, what, hint }) => `${area} ${level}: ${what} → ${hint}`);
  return { status, said, findings };
}

/** The first of them is said so. */
async function firstIll(world: World, environment: Record<string, string>, said: RegExp): Promise<void> {
  expect((await ills(world, environment)).said[0]).toMatch(said);
}

/** The sample shop's user as the README wants it: one that may only read. */
async function withReader(world: World): Promise<Record<string, string>> {
  const user = `reader_${new URL(world.shopUrl).pathname.slice(1)}`;
  await world.shop(`create role ${user} login password 'reader'`);
  onTestFinished(async () => {
    await world.warehouse(`drop owned by ${user}; drop role ${user}`).catch(() => {});
  });
  await world.shop(`grant usage on schema shop to ${user}; grant select on all tables in schema shop to ${user}`);
  const url = new URL(world.shopUrl);
  [url.username, url.password] = [user, 'reader'];
  return { SHOP_DATABASE_URL: url.href };
}

test('where nothing is wrong, doctor reports every check of every system as ok', async ({ world }) => {
  // Which orders have shipping costs and coupons depends on the day on which the sample shop is made.
  await world.shop('update shop.orders set paid_amount = goods_amount');
  const reader = await withReader(world);
  const { status, said, findings } = await ills(world, reader);
  expect(said).toEqual([
    'schedules warning: the queue holds no schedule: no run starts by itself → start review-sync worker',
  ]);
  expect(status).toBe(0);
  const areas = Map.groupBy(findings, ({ area }) => area);
  expect([...areas].map(([area, { length }]) => `${area} ${length}`)).toEqual([
    'configuration 1',
    'warehouse 5',
    'shop 7',
    'service 4',
    'queue 1',
    'schedules 1',
  ]);
  Object.assign(world.environment, reader);
  await world.says('doctor', /its timestamps have the offset of Asia\/Seoul$/m, /0 faults, 1 warning\.$/m);
});

test('each setting that is legal and risky is warned of', async () => {
  await using world = await openWorld({ shop: 'empty' });
  const risky = {
    ...{ HOST: '0.0.0.0', STATUS_TOKEN: 'the-token-of-the-page', REVIEW_API_BASE_URL: 'http://reviews.invalid' },
    ...{ ORDER_OVERLAP_MINUTES: '0', REVIEW_OVERLAP_MINUTES: '0', SCHEDULE_RECONCILE: '' },
    ...{ SHOP_DATABASE_URL: world.warehouseUrl, QUEUE_URL: 'redis://u:p@queue.invalid' },
  };
  const configuration = async (environment: Record<string, string>) =>
    (await ills(world, environment)).said.filter((one) => one.startsWith('configuration'));
  expect(await configuration(risky)).toEqual([
    'configuration warning: HOST is 0.0.0.0: the status page can be reached from outside → put a proxy with TLS in front of it',
    'configuration warning: REVIEW_API_BASE_URL is http: the token and customers’ data go unencrypted → use https',
    expect.stringMatching(
      /^configuration warning: QUEUE_URL: to another network without TLS, .* → add sslmode=require/,
    ),
    expect.stringMatching(/^configuration warning: ORDER_OVERLAP_MINUTES is 0: .* → leave it at 10$/),
    expect.stringMatching(/^configuration warning: REVIEW_OVERLAP_MINUTES is 0: .* → leave it at 60$/),
    expect.stringMatching(
      /^configuration warning: SCHEDULE_RECONCILE is empty: .* → leave it at 30 4 \* \* \*, or run/,
    ),
    'configuration warning: shop and warehouse are one database with one user → give the shop a user that may only read',
  ]);
  expect(await configuration({ HOST: '0.0.0.0', REVIEW_API_BASE_URL: 'http://[::1]:1' })).toEqual([]);
  expect(
    await configuration({ STATUS_TOKEN: risky.STATUS_TOKEN, REVIEW_API_BASE_URL: 'https://reviews.invalid' }),
  ).toEqual([]);
  expect((await ills(world, { REVIEW_API_TIME_ZONE: 'Asia/Tokyo' })).said).toContain(
    'warehouse warning: the views of bi cut days in Asia/Seoul, configured is Asia/Tokyo → review-sync migrate',
  );
});

test('one call reports every fault, each with its hint', async ({ world }) => {
  const environment = {
    WAREHOUSE_DATABASE_URL: new URL('/nowhere', world.warehouseUrl).href,
    SHOP_DATABASE_URL: Object.assign(new URL(world.shopUrl), { port: '1' }).href,
    QUEUE_URL: 'redis://127.0.0.1:1',
    REVIEW_API_CLIENT_SECRET: 'not-the-secret',
  };
  const { status, said } = await ills(world, environment);
  expect([status, said]).toEqual([
    1,
    [
      /^warehouse fault: .*"nowhere" does not exist → create the database/,
      /^shop fault: .*ECONNREFUSED.* → start the server, or correct host and port in SHOP_DATABASE_URL/,
      /^service fault: POST \/oauth\/token: .*did not accept the credentials.* → check the client id/,
      /^queue fault: cannot be reached: .* → .*QUEUE_URL/,
    ].map((one) => expect.stringMatching(one)),
  ]);
  expect(said.join()).not.toContain('not-the-secret');
  Object.assign(world.environment, environment);
  const fault = /^shop\n {2}FAULT {4}.*ECONNREFUSED.*\n {11}→ start the server/m;
  const text = await world.says('doctor', fault, /\n4 faults, 0 warnings\. Correct the faults first\.\n$/);
  expect(text.status).toBe(1);
});

test('the shop is checked before there is a warehouse; missing variables are faults', async ({ world }) => {
  const { SHOP_SQL_DIR = '' } = world.environment;
  const ofShop = { ...(await withReader(world)), ...(SHOP_SQL_DIR && { SHOP_SQL_DIR }) };
  const { status, stdout } = await runCli(['doctor', '--json'], ofShop);
  const { findings } = JSON.parse(stdout) as { findings: Found[] };
  expect(status).toBe(2);
  expect(findings.filter(({ area }) => area === 'shop').map(({ level }) => level)).not.toContain('fault');
  expect(findings).toContainEqual(
    expect.objectContaining({ what: expect.stringContaining('orders.sql fits the contract') }),
  );
  const [missing, ...others] = findings.filter(({ level }) => level === 'fault');
  expect(others).toEqual([]);
  expect(missing).toMatchObject({ area: 'configuration', hint: expect.stringContaining('.env.example explains') });
  expect(missing?.what).toMatch(
    /^4 environment variables are missing or wrong:\n {2}WAREHOUSE_DATABASE_URL is missing/,
  );
  // Without the shop's address there is nothing to check.
  expect(await runCli(['doctor'], {})).toMatchObject({ status: 2, stdout: '' });
});

test('a shop user who may write, and a query that breaks the contract, are said', async ({ world }) => {
  await firstIll(world, {}, /^shop warning: .*who is a superuser \(.* → create a user with select only/);
  const folder = await sampleShopQueries();
  const inner = async (name: string) => {
    const sql = await readFile(join(folder, `${name}.sql`), 'utf8');
    return `(${sql.replace(/;\s*$/, '')}\n) one`;
  };
  await writeQueries(folder, {
    order_lines: `select one.* from ${await inner('order_lines')} cross join generate_series(1, 2)`,
    categories: 'select code, title as name from categories_of_old',
    user_grades: 'select rolpassword as code, rolname as name from pg_authid',
  });
  const reader = await withReader(world);
  const environment = { SHOP_SQL_DIR: folder, ...reader };
  const { said } = await ills(world, environment);
  expect(said.slice(0, 3)).toEqual(
    [
      /^shop fault: order_lines\.sql: line_code .* of order .* is there 2 times → .*a join may multiply/,
      /^shop fault: .*categories\.sql cannot be run \(line 1\): relation "categories_of_old" does not exist/,
      /^shop fault: .*user_grades\.sql cannot be run: permission denied .* → Grant the user of SHOP/,
    ].map((one) => expect.stringMatching(one)),
  );
  await writeQueries(folder, { orders: `select one.*, 1 as colour from ${await inner('orders')}` });
  await firstIll(world, environment, /^shop fault: .*orders\.sql: column colour is not of the contract; leave it out/s);
  await rm(join(folder, 'orders.sql'));
  expect((await ills(world, environment)).said[0]).toContain(`orders.sql is missing in ${folder}`);
  // Who may not use a schema cannot write to its tables.
  const { username } = new URL(reader.SHOP_DATABASE_URL ?? '');
  await world.shop(`create table shop.log (n integer) partition by range (n); create schema hidden; create table hidden.t (n integer);
    grant update on shop.log to ${username}; grant delete on shop.members to ${username};
    grant truncate on shop.orders to ${username}; grant insert on hidden.t to ${username}`);
  await firstIll(world, reader, /who may write to 3 tables \(shop\.log, shop\.members, shop\.orders/);
});

test.each([
  [{ status: 503 }, '(status 503)', /^check whether the service is up, and its log$/],
  [{ body: '<h1>Hello</h1>' }, 'not what this request returns', /^REVIEW_API_BASE_URL may name a web site/],
])('a service that responds with %j is a fault: %s', async (reply, what, hint) => {
  const api = client((await tinyService(() => reply)).url, { retry: { ...quick, attempts: 1 } });
  const found = await checkService({ api, timeZone: 'UTC', plausible, now: () => new Date() });
  expect(found[1]).toMatchObject({ level: 'fault', what: expect.stringContaining(what) });
  expect(found[1]?.hint).toMatch(hint);
});

test.each([
  [60, 'ok', 'agrees'],
  [86_400, 'warning', 'nothing is lost'],
  [86_401, 'fault', 'no run of reviews begins'],
])('a clock of the service that is %i s ahead or behind is: %s, %s', async (seconds, level, said) => {
  const now = new Date('2026-03-01T12:00:00Z');
  for (const offset of [seconds, -seconds]) {
    const date = new Date(now.getTime() + offset * 1000).toUTCString();
    const overview = { first_review_created_at: null, last_review_created_at: null };
    const api = client((await tinyService(() => json(overview, { date }))).url);
    const found = await checkService({ api, timeZone: 'UTC', plausible, now: () => now });
    expect(found[1]).toMatchObject({ level, what: expect.stringContaining(said) });
  }
});

test('an empty query, orders without lines and an odd catalog are each said', async () => {
  const changed_orders = 'select code, updated_at as changed_at from o where updated_at >= :since';
  const folder = await orderShopQueries({ changed_orders });
  await using world = await openWorld({ shop: 'empty', environment: { SHOP_SQL_DIR: folder } });
  await createOrderShop(world.shopUrl);
  const ofShop = async () =>
    (await ills(world)).findings
      .filter(({ area }) => area === 'shop')
      .slice(1)
      .map(({ level, what, hint }) => `${level}: ${what} → ${hint}`);
  expect(await ofShop()).toEqual([
    'warning: orders.sql fits, but finds no row → see whether its conditions are right',
    'ok: categories.sql is absent: that part is not synced → undefined',
    'ok: user_grades.sql is absent: that part is not synced → undefined',
  ]);
  await world.shop(`insert into o (code) values ('A')`);
  await writeQueries(folder, {
    categories: `select code, 'C' as name from (values ('1'), ('1'), ('2')) as c (code)`,
    user_grades: `select '1' as code, '' as name`,
  });
  expect(await ofShop()).toEqual([
    'warning: order_lines.sql fits, but the orders have no line → see whether its conditions are right',
    expect.stringMatching(/^ok: no statement reads a large table as a whole/),
    'fault: categories.sql: code 1 is there 2 times → let the query give each once: a join may multiply rows',
    expect.stringMatching(
      /^warning: user_grades\.sql: 1 of 1 rows would not be synced, .* name is an empty text.* \(code 1\) → correct/,
    ),
  ]);
  const isSaid = async (...patterns: RegExp[]) =>
    expect((await ills(world)).said).toEqual(expect.arrayContaining(patterns.map((one) => expect.stringMatching(one))));
  await world.shop(`update o set order_device = 'tablet'`);
  await isSaid(/^shop fault: orders\.sql: 1 of 1 rows would not be synced, .*order_device/);
  await world.shop(`insert into o (code, updated_at) values ('B', '2999-01-01')`);
  await isSaid(
    /^shop warning: changed_orders\.sql: changed_at of 1 order is in the future, such as 2999.*\(order B\) → /,
  );
  await world.shop(`insert into o (code) select 'C' || n from generate_series(1, 12) n;
    insert into l (order_code, line_code, product_id) select 'C' || n, '1', 1 from generate_series(1, 12) n`);
  await writeQueries(folder, { changed_orders: changed_orders.replace('code,', `'#' || code as code,`) });
  await isSaid(
    /^shop warning: order_lines\.sql: 2 of 14 orders have no line, such as order [AB] → /,
    /^shop warning: changed_orders\.sql: orders\.sql shows none of 14 changed orders, such as #B → /,
  );
});

const zoneIsRight = 'ok: its timestamps have the offset of Asia/Seoul';
const isListed = 'ok: its newest review is listed at its second, in pages of 100';
const noon = '2026-03-01T12:00:00+09:00';
const cannotBeChecked =
  /^warning: it holds no review yet: whether it reads and shows dates in Asia\/Seoul cannot be checked.* → ask/;
const isEarly =
  /^warning: its overview names a review of 2019.*Z to 2026-03-01T23:59:59\.000Z\) → set REVIEW_YEARS_FROM if/;
const isLate = /^warning: its overview names a review of 2026-03-02T09:00:00\+09:00, outside .*\(2020-01-01T00:00:00/;
const isOfNewYork = /^fault: its timestamps have the offset -05:00, but Asia\/Seoul has .* → set REVIEW_API_TIME_ZONE/;
const isElsewhere =
  /^warning: no review is listed at 2026-03-01 12:00:00 \(Asia\/Seoul\), the date of the newest .* → the review may be/;
test.each<[claim: string, dates: [first: string | null, last: string | null], reviews: number, said: unknown[]]>([
  ['without a review', [null, null], 0, [cannotBeChecked]],
  ['as it should be', ['2020-01-01T00:00:00Z', '2026-03-02T08:59:59+09:00'], 100, [zoneIsRight, isListed]],
  [
    'with dates that are not read',
    ['2019-12-31T23:59:59+00:00', '2026-03-02T09:00:00+09:00'],
    1,
    [isEarly, isLate, zoneIsRight, isListed],
  ],
  [
    'without offsets',
    [null, '2026-03-01T12:00:00'],
    1,
    ['warning: its timestamps have no offset → ask the service’s makers', isListed],
  ],
  ['that lists another second', [null, noon], 0, [zoneIsRight, isElsewhere]],
  ['of another zone', [null, '2026-03-01T12:00:00-05:00'], 1, [isOfNewYork, isListed]],
  [
    'with pages that are too long',
    [null, noon],
    101,
    [zoneIsRight, 'fault: a page holds 101 reviews, expected at most 100 → ask the service’s makers'],
  ],
])('doctor says of a service %s what it could check, and what to do', async (_, [first, last], reviews, said) => {
  const overview = { first_review_created_at: first, last_review_created_at: last };
  const items = Array.from({ length: reviews }, (_, n) => ({ id: n + 1 }));
  const service = await tinyService(({ path }) => json(path.endsWith('/overview') ? overview : items));
  const deps = { api: client(service.url), timeZone: 'Asia/Seoul', plausible, now: () => new Date() };
  const found = (await checkService(deps)).slice(2);
  expect(found.map(({ level, what, hint }) => `${level}: ${what}${hint ? ` → ${hint}` : ''}`)).toEqual(
    said.map((one) => (one instanceof RegExp ? expect.stringMatching(one) : one)),
  );
});

test('a warehouse that lacks a migration, a column or a right is a fault', async ({ world }) => {
  const reader = await withReader(world);
  const [url, { username }] = [new URL(world.warehouseUrl), new URL(reader.SHOP_DATABASE_URL ?? '')];
  [url.username, url.password] = [username, 'reader'];
  const other = { ...reader, WAREHOUSE_DATABASE_URL: url.href, QUEUE_URL: world.warehouseUrl };
  const asOther = async () => (await ills(world, other)).said.filter((one) => one.startsWith('warehouse'));
  await world.warehouse(`grant usage on schema warehouse, sync, bi, review_sync_migrations to ${username};
    grant all on all tables in schema warehouse, sync, bi, review_sync_migrations to ${username}`);
  expect(await asOther()).toEqual([
    'warehouse fault: the tables belong to postgres, whose rights the user ' +
      `${username} does not have → run as the user who migrated, or: grant postgres to ${username}`,
  ]);
  const owner = `owner_${username}`;
  await world.warehouse(`create role ${owner}; grant ${owner} to ${username}`);
  onTestFinished(() => world.warehouse(`drop owned by ${owner}; drop role ${owner}`).then(() => {}));
  await using warehouse = await openWarehouse({ url: url.href, connections: 1 });
  await world.warehouse(`do $$ declare name text; begin
    for name in select oid::regclass from pg_class
      where relnamespace::regnamespace::text in ('warehouse', 'sync', 'bi') and relkind in ('r', 'v')
    loop execute format('alter table %s owner to ${owner}', name); end loop; end $$`);
  expect((await readWarehouseFacts(warehouse)).otherOwners).toEqual([]);
  for (const name of ['sync.runs', 'bi.reviews']) {
    await world.warehouse(`alter table ${name} owner to postgres`);
    expect([name, (await readWarehouseFacts(warehouse)).otherOwners]).toEqual([name, ['postgres']]);
    await world.warehouse(`alter table ${name} owner to ${owner}`);
  }
  await world.warehouse('alter table warehouse.reviews drop column tag_name cascade');
  await firstIll(
    world,
    reader,
    /^warehouse fault: a row could not be written: column "tag_name" .*does not exist → a table or column is missing/,
  );
  await world.warehouse(`delete from review_sync_migrations.applied where name like '0004%'`);
  await world.warehouse(`insert into review_sync_migrations.applied (name) values ('9999_future')`);
  const { said } = await ills(world, { ...reader, QUEUE_URL: await createDatabase('empty') });
  expect(said).toContainEqual(
    'queue fault: The queue (QUEUE_URL) lacks its tables, or has those of another version → Run: review-sync migrate',
  );
  expect(said[0]).toMatch(/^warehouse fault: migrations 9999_future are of a newer version .* → run one version/);
  expect(said[1]).toMatch(/^warehouse fault: migrations are missing: 0004_webhooks_and_alerts → review-sync migrate/);
  expect(said).not.toContainEqual(expect.stringContaining('may not create schemas'));
  expect((await asOther()).at(-1)).toMatch(
    /^warehouse fault: the user may not create schemas, .* → grant create on database/,
  );
});

redisTest('a Redis that drops keys, or whose memory is full, is named', async () => {
  const redis = await startRedis(['--maxmemory-policy', 'allkeys-lru']);
  onTestFinished(redis.close);
  await using world = await openWorld({ environment: { QUEUE_URL: redis.url } });
  expect((await ills(world)).said).toContainEqual(
    expect.stringMatching(/^queue warning: Redis drops .* \(allkeys-lru\).* → set maxmem.* noeviction$/),
  );
  await withRedis(redis.url, (client) => client.config('SET', 'maxmemory', '1', 'maxmemory-policy', 'noeviction'));
  expect((await ills(world)).said).toContainEqual(
    expect.stringMatching(/^queue fault: the memory of the server is full \(OOM .* → give it more memory/),
  );
});

test('a system that never responds is a fault after eight seconds', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  const never = () => new Promise<never>(() => {});
  const looks = Promise.all([
    checkService({ api: { authenticate: never }, plausible } as never),
    checkShop({ facts: never } as never, ''),
  ]);
  await vi.advanceTimersByTimeAsync(8000);
  const what = expect.stringContaining('does not respond within 8 seconds');
  expect(await looks).toMatchObject([[{ level: 'fault', what }], [{ level: 'fault', what }]]);
});
