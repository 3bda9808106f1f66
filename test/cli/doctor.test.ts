import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, vi } from 'vitest';
import { checkService } from '../../src/app/doctor/check-service.ts';
import { checkShop } from '../../src/app/doctor/check-shop.ts';
import { withRedis } from '../../src/queue/connection.ts';
import { runCli, until } from '../harness/cli.ts';
import { createDatabase } from '../harness/database.ts';
import { createOrderShop, orderShopQueries, sampleShopQueries, writeQueries } from '../harness/order-world.ts';
import { redisTest } from '../harness/queues.ts';
import { startRedis } from '../harness/servers.ts';
import { openWorld, type World, worldTest } from '../harness/world.ts';
import { type Answering, client, json, quick, tinyService } from '../review-api/tiny-service.ts';

const test = worldTest.extend('worldOptions', { shop: 'sample' });

type Found = { area: string; level: string; what: string; hint?: string };

/** What doctor says once a busy machine has given each check its eight seconds. */
const saysInTime = (world: World, environment: Record<string, string>, ...options: string[]) =>
  until(async () => {
    const end = await runCli(['doctor', ...options], { ...world.environment, ...environment });
    return !end.stdout.includes('does not respond within 8 seconds') && end;
  });

/** What doctor finds in this world, but for what is well. */
async function ills(world: World, environment: Record<string, string> = {}) {
  const { status, stdout } = await saysInTime(world, environment, '--json');
  const { findings } = JSON.parse(stdout) as { findings: Found[] };
  const said = findings
    .filter(({ level }) => level !== 'ok')
    .map(({ area, level, what, hint }) => `${area} ${level}: ${what} → ${hint}`);
  return { status, said, findings };
}

/** Each of these is among them. */
async function isIll(world: World, environment: Record<string, string>, ...patterns: RegExp[]): Promise<void> {
  const { said } = await ills(world, environment);
  expect(said).toEqual(expect.arrayContaining(patterns.map((one) => expect.stringMatching(one))));
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
  const checks = Object.fromEntries([...areas].map(([area, { length }]) => [area, length]));
  expect(checks).toEqual({ configuration: 1, warehouse: 3, shop: 7, service: 4, queue: 1, schedules: 1 });
  const { stdout } = await saysInTime(world, reader);
  expect(stdout).toMatch(/its timestamps have the offset of Asia\/Seoul\n.*\n0 faults, 1 warning\.\n$/s);
});

test('each setting that is legal and risky is warned of', async () => {
  await using world = await openWorld();
  const configuration = async (environment: Record<string, string>) =>
    (await ills(world, environment)).said.filter((one) => one.startsWith('configuration'));
  const risky = { HOST: '0.0.0.0', STATUS_TOKEN: 'the-token-of-the-page', SCHEDULE_RECONCILE: '' };
  const addresses = { REVIEW_API_BASE_URL: 'http://reviews.invalid', QUEUE_URL: 'redis://u:p@queue.invalid' };
  const named =
    'HOST is 0.0.0.0:|QUEUE_URL, REVIEW_API_BASE_URL: to another network without TLS|SCHEDULE_RECONCILE is empty:';
  const all = named.split('|').map((one) => expect.stringContaining(`configuration warning: ${one}`));
  expect(await configuration({ ...risky, ...addresses })).toEqual(all);
  expect(await configuration({ HOST: '0.0.0.0', REVIEW_API_BASE_URL: 'http://[::1]:1' })).toEqual([]);
  const { STATUS_TOKEN } = risky;
  expect(await configuration({ STATUS_TOKEN, REVIEW_API_BASE_URL: 'https://reviews.invalid' })).toEqual([]);
  expect((await ills(world, { REVIEW_API_TIME_ZONE: 'Asia/Tokyo' })).said).toContain(
    'warehouse warning: the days of bi are in Asia/Seoul, but Asia/Tokyo is configured → review-sync migrate',
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
      /^warehouse fault: .*"nowhere" does not exist/,
      /^shop fault: .*ECONNREFUSED.* → start the server, or correct host and port in SHOP_DATABASE_URL/,
      /^service fault: POST \/oauth\/token: .*did not accept the credentials.* → check the client id/,
      /^queue fault: The queue \(QUEUE_URL\) cannot be reached: .* → .* in QUEUE_URL$/,
    ].map((one) => expect.stringMatching(one)),
  ]);
  expect(said.join()).not.toContain('not-the-secret');
  const text = await runCli(['doctor'], { ...world.environment, ...environment });
  expect(text).toMatchObject({
    status: 1,
    stdout: expect.stringMatching(/^shop\n {2}FAULT {4}.*ECONNREFUSED.*\n {11}→ start/m),
  });
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
  const faults = findings.filter(({ level }) => level === 'fault');
  const what = expect.stringMatching(
    /^4 environment variables are missing or wrong:\n {2}WAREHOUSE_DATABASE_URL is missing/,
  );
  expect(faults).toEqual([expect.objectContaining({ area: 'configuration', what })]);
  // Without the shop's address there is nothing to check.
  expect(await runCli(['doctor'], {})).toMatchObject({ status: 2, stdout: '' });
});

test('a shop user who may write, and a query that breaks the contract, are said', async ({ world }) => {
  await isIll(world, {}, /^shop warning: .*who is a superuser \(.* → create a user with select only/);
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
  await isIll(
    world,
    environment,
    /^shop fault: order_lines\.sql: .* such as: line_code is there twice .*\(order_line .*\) → .*a join may multiply/,
    /^shop fault: .*categories\.sql cannot be run \(line 1\): relation "categories_of_old" does not exist/,
    /^shop fault: .*user_grades\.sql cannot be run: permission denied .* → It must be one SELECT .* with select on its tables/,
  );
  await writeQueries(folder, { orders: `select one.*, 1 as colour from ${await inner('orders')}` });
  await isIll(world, environment, /^shop fault: .*orders\.sql: column colour is not of the contract; leave it out/s);
  await rm(join(folder, 'orders.sql'));
  await isIll(world, environment, /orders\.sql is missing in /);
  // Who may not use a schema cannot write to its tables.
  const { username } = new URL(reader.SHOP_DATABASE_URL ?? '');
  await world.shop(`create table shop.log (n integer) partition by range (n); create schema hidden; create table hidden.t (n integer);
    grant update on shop.log to ${username}; grant delete on shop.members to ${username};
    grant truncate on shop.orders to ${username}; grant insert on hidden.t to ${username}`);
  await isIll(world, reader, /who may write to 3 tables \(shop\.log, shop\.members, shop\.orders/);
});

/** What the doctor says of a service that responds so, after the login. */
async function saysOf(answering: Answering, now = new Date()) {
  const api = client((await tinyService(answering)).url, { retry: { ...quick, attempts: 1 } });
  const [, ...found] = await checkService({ api, timeZone: 'Asia/Seoul', now: () => now });
  return found.map(({ level, what, hint = 'nothing' }) => `${level}: ${what} → ${hint}`);
}

test.each([
  [{ status: 503 }, /^fault: .*\(status 503\).* → check whether the service is up, and its log$/],
  [{ status: 403 }, /^fault: .*\(status 403\).* → read its error$/],
  [{ body: '<h1>Hello</h1>' }, /^fault: .*not what this request returns.* → REVIEW_API_BASE_URL may name a web site/],
])('a service that responds with %j is a fault: %s', async (reply, said) => {
  expect((await saysOf(() => reply))[0]).toMatch(said);
});

const overview = (last: string | null) => ({ first_review_created_at: null, last_review_created_at: last });
test.each([
  [60, /^ok: .*agrees/],
  [86_400, /^warning: .*nothing is lost/],
  [86_401, /^fault: .*no run of reviews begins/],
])('a clock of the service that is %i s ahead or behind is %s', async (seconds, said) => {
  const now = new Date('2026-03-01T12:00:00Z');
  for (const offset of [seconds, -seconds]) {
    const date = new Date(now.getTime() + offset * 1000).toUTCString();
    expect((await saysOf(() => json(overview(null), { date }), now))[0]).toMatch(said);
  }
});

test('an empty query, orders without lines and an odd catalog are each said', async () => {
  const changed_orders = 'select code, updated_at as changed_at from o where updated_at >= :since';
  const folder = await orderShopQueries({ changed_orders });
  await using world = await openWorld({ environment: { SHOP_SQL_DIR: folder } });
  await createOrderShop(world.shopUrl);
  await isIll(world, {}, /^shop warning: orders\.sql fits, but finds no row → see whether/);
  await world.shop(`insert into o (code) values ('A')`);
  await writeQueries(folder, {
    categories: `select code, 'C' as name from (values ('1'), ('1'), ('2')) as c (code)`,
    user_grades: `select '1' as code, '' as name`,
  });
  await isIll(
    world,
    {},
    /^shop warning: order_lines\.sql fits, but the orders have no line → see whether/,
    /^shop warning: categories\.sql: 1 of 2 rows would not be synced, .* code is there in 2 rows.* \(category 1\) → correct/,
    /^shop fault: user_grades\.sql: 1 of 1 rows would not be synced, .* name is an empty text.* \(user_grade 1\) → correct/,
  );
  await world.shop(`update o set order_device = 'tablet'`);
  await isIll(world, {}, /^shop fault: orders\.sql: 1 of 1 rows would not be synced, .*order_device/);
  // A feed that dates a new order by another zone.
  expect((await ills(world, {})).said.join()).not.toContain('changed_orders.sql');
  await world.shop(
    `insert into o (code, created_at, updated_at) values ('B', now() - interval '2 h', now() - interval '11 h')`,
  );
  await isIll(
    world,
    {},
    /^shop warning: changed_orders\.sql does not show 1 of the newest 2 orders, such as order B: .* → add/,
  );
});

const noon = '2026-03-01T12:00:00+09:00';
const zoneIsRight = /^ok: its timestamps have the offset of Asia\/Seoul →/;
const isListed = /^ok: its newest review is listed at its second, in pages of 100 →/;
const noReview = /^warning: it holds no review yet/;
const hasNoOffset = /^warning: its timestamps have no offset →/;
const isOfNewYork = /^fault: its timestamps have the offset -05:00, but Asia\/Seoul had /;
const isElsewhere = /^warning: no review is listed at 2026-03-01 12:00:00 \(Asia\/Seoul\), the date of the newest /;
const isLong = /^fault: a page holds 101 reviews, expected at most 100 →/;
test.each<[claim: string, last: string | null, reviews: number, said: RegExp[]]>([
  ['without a review', null, 0, [noReview]],
  ['as it should be', '2026-03-02T08:59:59+09:00', 100, [zoneIsRight, isListed]],
  ['without offsets', '2026-03-01T12:00:00', 1, [hasNoOffset, isListed]],
  ['that lists another second', noon, 0, [zoneIsRight, isElsewhere]],
  ['of another zone', '2026-03-01T12:00:00-05:00', 1, [isOfNewYork, isListed]],
  ['with pages that are too long', noon, 101, [zoneIsRight, isLong]],
])('doctor says of a service %s what it could check', async (_, last, reviews, said) => {
  const items = Array.from({ length: reviews }, (_, n) => ({ id: n + 1 }));
  const found = await saysOf(({ path }) => json(path.endsWith('/overview') ? overview(last) : items));
  expect(found.slice(1)).toEqual(said.map((one) => expect.stringMatching(one)));
});

test('a warehouse that lacks a migration or a right is a fault', async ({ world }) => {
  const reader = await withReader(world);
  const { username, password } = new URL(reader.SHOP_DATABASE_URL ?? '');
  const url = Object.assign(new URL(world.warehouseUrl), { username, password });
  const other = { ...reader, WAREHOUSE_DATABASE_URL: url.href, QUEUE_URL: world.warehouseUrl };
  const asOther = async () => (await ills(world, other)).said.filter((one) => one.startsWith('warehouse'));
  await world.warehouse(`grant usage on schema warehouse, sync, bi, review_sync_migrations to ${username};
    grant all on all tables in schema warehouse, sync, bi, review_sync_migrations to ${username}`);
  expect(await asOther()).toEqual([
    'warehouse fault: the tables belong to postgres, whose rights the user ' +
      `${username} does not have → run as the user who migrated, or: grant postgres to ${username}`,
  ]);
  await world.warehouse(`delete from review_sync_migrations.applied where name like '0004%'`);
  await world.warehouse(`insert into review_sync_migrations.applied (name) values ('9999_future')`);
  const { said } = await ills(world, { ...reader, QUEUE_URL: await createDatabase('empty') });
  expect(said).toContainEqual(
    'queue fault: The queue (QUEUE_URL) lacks its tables, or has those of another version → Run: review-sync migrate',
  );
  expect(said[0]).toMatch(/^warehouse fault: migrations 9999_future are of a newer version .* → run one version/);
  expect(said[1]).toMatch(/^warehouse fault: migrations are missing: 0004_webhooks_and_alerts → review-sync migrate/);
  expect(said).not.toContainEqual(expect.stringContaining('may not create schemas'));
  expect(await asOther()).toContainEqual(
    expect.stringMatching(/^warehouse fault: the user may not create schemas, .* → grant create on database/),
  );
  const database = new URL(world.warehouseUrl).pathname.slice(1);
  await world.warehouse(`revoke temporary on database ${database} from public`);
  expect(await asOther()).toContainEqual(
    expect.stringMatching(/^warehouse fault: the user may not create temporary tables, .* → grant temporary on/),
  );
  await world.warehouse(`alter database ${database} set default_transaction_read_only = on`);
  await isIll(world, {}, /^warehouse fault: this server is a standby or read-only/);
});

redisTest('a Redis that drops keys, is full or a replica is named', async () => {
  const redis = await startRedis(['--maxmemory-policy', 'allkeys-lru']);
  await using world = await openWorld({ shop: 'sample', environment: { QUEUE_URL: redis.url } });
  await isIll(world, {}, /^queue warning: Redis drops .* \(allkeys-lru\).* → set maxmem.* noeviction$/);
  await withRedis(redis.url, (client) => client.config('SET', 'maxmemory', '1', 'maxmemory-policy', 'noeviction'));
  await isIll(world, {}, /^queue fault: the memory of the server is full \(OOM .* → give it more memory/);
  await withRedis(redis.url, async (client) => {
    await client.config('SET', 'maxmemory', '0');
    await client.replicaof('127.0.0.1', 1);
  });
  await isIll(world, {}, /^queue fault: .* read-only \(READONLY .* → name the primary in QUEUE_URL, /);
});

test('a system that never responds is a fault after eight seconds', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const never = () => new Promise<never>(() => {});
  const looks = Promise.all([
    checkService({ api: { authenticate: never } } as never),
    checkShop({ facts: never } as never, ''),
  ]);
  await vi.advanceTimersByTimeAsync(8000);
  const what = expect.stringContaining('does not respond within 8 seconds');
  expect(await looks).toMatchObject([[{ level: 'fault', what }], [{ level: 'fault', what }]]);
});
