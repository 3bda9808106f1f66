import { chmod, cp, mkdir, mkdtemp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { configOf, readBrands } from '../../src/app/brands.ts';
import { packagePath } from '../../src/base/package-path.ts';
import { addressOf, type CliEnd, patienceMs, runCli, startHere, until } from '../harness/cli.ts';
import { createDatabase, forgetDatabase, queryAgain, valuesOf } from '../harness/database.ts';
import { temporaryFolder } from '../harness/folder.ts';
import { endsOf, noSchedules, openWorld, postWebhook, type World, type WorldOptions } from '../harness/world.ts';

type Brands = Awaited<ReturnType<typeof openBrands>>;

const client = { REVIEW_API_CLIENT_ID: 'demo', REVIEW_API_CLIENT_SECRET: 'demo' };
/** The file of a brand. */
const fileOf = (variables: Record<string, string>) =>
  Object.entries({ ...client, ...variables }).map(([variable, value]) => `${variable}=${value}\n`);
const own = { mode: 0o600 };

/** Brands with a shop and a service each, and one warehouse for all of them, which `migrate` has not seen yet. */
async function openBrands(given: Record<string, WorldOptions>) {
  await using opened = new AsyncDisposableStack();
  const folder = await mkdtemp(join(tmpdir(), 'brands-'));
  opened.defer(() => rm(folder, { recursive: true }));
  const warehouseUrl = await createDatabase();
  opened.defer(() => forgetDatabase(warehouseUrl));
  const environment: Record<string, string> = {
    BRANDS_DIR: folder,
    WAREHOUSE_DATABASE_URL: warehouseUrl,
    REVIEW_YEARS_FROM: '2022',
    LOG_LEVEL: 'warn',
  };
  const worlds: Record<string, World> = {};
  /** Writes the file of a brand, with these variables over its usual ones. */
  const write = async (name: string, variables: Record<string, string> = {}) => {
    const { shopUrl = '', serviceUrl = '' } = worlds[name] ?? {};
    const usual = { SHOP_DATABASE_URL: shopUrl, REVIEW_API_BASE_URL: serviceUrl };
    await writeFile(join(folder, `${name}.env`), fileOf({ ...usual, ...given[name]?.environment, ...variables }), own);
  };
  for (const [name, options] of Object.entries(given)) {
    worlds[name] = opened.use(await openWorld(options));
    await cp(packagePath('sql', 'shop'), join(folder, name), { recursive: true });
    await write(name);
  }
  const all = opened.move();
  /** Runs a command to its end for these brands. */
  const cli = (command: string) => runCli(command.split(' '), environment);
  return {
    folder,
    /** What the command line needs to work with all brands. */
    environment,
    /** The shop and the service of each brand. Its own warehouse is not used. */
    worlds,
    write,
    cli,
    ends: endsOf(cli),
    warehouse: <Row extends Record<string, unknown>>(text: string, values?: unknown[]) =>
      queryAgain<Row>(environment.WAREHOUSE_DATABASE_URL ?? '', text, values),
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  };
}

const documentOf = ({ stdout }: CliEnd) =>
  (JSON.parse(stdout) as { brands: Record<string, { error?: { message: string }; outcome?: string }> }).brands;

/** Locks tables of the warehouse; closing ends that. */
async function lock({ environment }: Brands, tables: string) {
  const connectionString = environment.WAREHOUSE_DATABASE_URL;
  const holder = new pg.Client({ connectionString, application_name: 'psql of somebody' });
  await holder.connect();
  await holder.query(`begin; lock table ${tables}`);
  return { release: () => holder.query('rollback'), [Symbol.asyncDispose]: () => holder.end() };
}

/** Every order and line of a brand's shop is at its service, and every review of its service in its warehouse. */
async function expectExact(brands: Brands, name: string): Promise<void> {
  const world = brands.worlds[name];
  if (!world) throw new Error(`there is no world ${name}`);
  const shop = await world.shop(
    `select o.order_no as code, count(i.*)::integer as lines from shop.orders o
     left join shop.order_items i on i.order_id = o.order_id where o.removed_at is null group by 1 order by 1`,
  );
  const service = await world.atService(
    `select o.code, count(s.*)::integer as lines from reference_service.orders o
     left join reference_service.sub_orders s on s.order_id = o.id group by 1 order by 1`,
  );
  expect(service).toEqual(shop);
  const reviews = await world.atService('select id::integer from reference_service.reviews order by 1');
  expect(await brands.warehouse(`select id::integer from warehouse_${name}.reviews order by 1`)).toEqual(reviews);
}

const withIds = (ids: string) => ({ shop: 'sample' as const, environment: { WEBHOOK_BRAND_IDS: ids } });

/** The runs that ended as done of a brand's orders and reviews. */
const doneIn = async (brands: Brands, name: string) => {
  const done = `outcome = 'done' and job in ('sync-orders', 'sync-reviews')`;
  return valuesOf(await brands.warehouse(`select distinct job from sync_${name}.runs where ${done} order by 1`));
};

/** A worker of a dead, an unreadable and a good brand, to which another one is added while it runs. */
async function runWorker(brands: Brands): Promise<string[]> {
  // A run of each brand every two seconds would take more time than all that the test waits for.
  const every = '*/5 * * * * *';
  const schedules = { ...noSchedules, SCHEDULE_ORDERS: every, SCHEDULE_REVIEWS: every };
  await brands.write('dead', { REVIEW_API_BASE_URL: 'http://127.0.0.1:1' });
  const unreadable = join(brands.folder, 'unreadable.env');
  await writeFile(unreadable, 'QUEUE_URL=redis://127.0.0.1:1', own);
  const worker = startHere(['worker'], { ...brands.environment, ...schedules, LOG_LEVEL: 'info' });
  await worker.says('"worker ready"');
  await worker.says('unreadable.env has QUEUE_URL');
  await until(async () => (await doneIn(brands, 'nord')).length === 2);

  // A brand is added without stopping anything, and another one leaves.
  await brands.write('sued');
  await brands.ends(0, 'migrate --brand sued');
  // Lines wait until a review shows the id of their product, so that the first runs leave some.
  for (const name of ['nord', 'sued'])
    await vi.waitFor(() => expectExact(brands, name), { timeout: patienceMs(), interval: 500 });
  for (const file of ['dead.env', 'unreadable.env']) await rm(join(brands.folder, file));
  await worker.says('the brand is not served any more');
  worker.kill('SIGTERM');
  const { status } = await worker.ended;
  return [`the worker ends with ${status}`, ...(await doneIn(brands, 'dead')).map((job) => `dead: ${job}`)];
}

/** Two brands with the same order numbers, product ids and review ids, which one worker has synced. */
let both: Brands;
let story: string[];
beforeAll(async () => {
  both = await openBrands({ dead: {}, nord: withIds('1'), sued: withIds('2,3') });
  await rm(join(both.folder, 'sued.env'));
  await both.ends(0, 'migrate');
  story = await runWorker(both);
});
afterAll(() => both[Symbol.asyncDispose]());

test('one worker runs all brands, whichever is dead, new or gone', async () => {
  expect(story).toEqual(['the worker ends with 0']);
  expect(await doneIn(both, 'sued')).toHaveLength(2);
});

test('two brands with equal numbers and ids end exact, with forget in one', async () => {
  for (const name of ['nord', 'sued']) await expectExact(both, name);
  const customers =
    'select user_code from warehouse_nord.reviews where user_code is not null and order_code is not null';
  const code = String(valuesOf(await both.warehouse(customers))[0]);
  await both.ends(0, `forget user ${code} --apply --brand nord`);
  const named = (name: string) => both.warehouse(`select from warehouse_${name}.reviews where user_code = $1`, [code]);
  expect(await named('nord')).toEqual([]);
  expect(await named('sued')).not.toEqual([]);
  // The next run of the brand that was not touched has nothing to do.
  const again = await both.ends(0, 'sync orders --brand sued --json');
  const counts = { lines_waiting: 0, orders_waiting_for_grade: expect.any(Number) };
  expect(JSON.parse(again.stdout)).toEqual({ outcome: 'done', counts });
  for (const name of ['nord', 'sued']) await both.ends(0, `verify orders --brand ${name}`);
});

test('a broken query of one brand changes nothing for the other; a brand is asked for', async () => {
  const query = join(both.folder, 'sued', 'orders.sql');
  const right = await readFile(query, 'utf8');
  await writeFile(query, 'select nothing from nowhere');
  // A query that does not fit the contract is a wrong configuration.
  expect(documentOf(await both.ends(2, 'sync orders --json'))).toMatchObject({
    nord: { outcome: 'done' },
    sued: { error: { message: expect.stringContaining('orders.sql') } },
  });
  await writeFile(query, right);
  await chmod(join(both.folder, 'nord.env'), 0o640);
  await both.ends(0, 'doctor --brand nord', 'nord.env, which holds passwords, can be read by other users');
  await chmod(join(both.folder, 'nord.env'), 0o600);
  const ofOne = ['explain order 1', 'preview order 1', 'dead-letters show 1', 'dead-letters discard 1'];
  const declared = ['service', 'shop', 'orders'].map((what) => `migrate --same-${what}`);
  for (const command of [...ofOne, ...declared, 'forget user 1 --apply', 'forget order 1 --apply'])
    await both.ends(2, command, 'add --brand and one of nord, sued');
  await both.ends(2, 'status --brand d', 'expected one of: nord, sued');
  const misplaced = await runCli(['status'], { ...both.environment, REVIEW_API_CLIENT_ID: 'demo' });
  expect(misplaced).toMatchObject({ status: 2, stderr: expect.stringMatching(/REVIEW_API_CLIENT_ID must not be in/) });
});

test('commands over all brands go on where one is locked, and name it', async () => {
  await using held = await lock(both, 'sync_nord.runs, sync_nord.settings');
  const commands = ['status', 'doctor', 'sync reviews'];
  const ends = await Promise.all(commands.map((command) => both.cli(`${command} --json`)));
  for (const [at, end] of ends.entries()) {
    const { nord, sued } = documentOf(end);
    expect({ at, status: end.status, sued: sued?.error }).toEqual({ at, status: 1, sued: undefined });
    expect(JSON.stringify(nord)).toContain('another session holds a lock on the table');
  }
  const [status, doctor] = ends;
  expect(status?.stderr).toMatch(/^brand nord: review-sync: another session holds a lock on the table/m);
  expect(doctor?.stdout).toContain('let it finish, or end that session');
  expect(doctor?.stdout).toContain('all migrations are applied');
  await held.release();
  const after = await both.cli('status');
  expect([after.status, after.stdout.match(/^brand \w+$/gm)]).toEqual([0, ['brand nord', 'brand sued']]);
});

test('two brands whose accounts are swapped are refused', async () => {
  const { nord, sued } = both.worlds;
  const requests = () => [nord?.service.requests(), sued?.service.requests()];
  const before = requests();
  await both.write('nord', { REVIEW_API_BASE_URL: sued?.serviceUrl ?? '' });
  await both.write('sued', { REVIEW_API_BASE_URL: nord?.serviceUrl ?? '' });
  for (const flow of ['reviews', 'orders']) {
    expect(documentOf(await both.ends(2, `sync ${flow} --json`))).toMatchObject({
      nord: { error: { message: expect.stringContaining('belongs to the brand sued of this warehouse') } },
      sued: { error: { message: expect.stringContaining('belongs to the brand nord of this warehouse') } },
    });
  }
  expect(requests()).toEqual(before);
  for (const name of ['nord', 'sued']) await both.write(name);
  await both.ends(0, 'sync reviews');
});

test('bi shows all brands, or reads only one; a role reads one or all', async () => {
  const counts = 'select brand, count(*)::integer from bi.reviews group by 1 order by 1';
  expect(await both.warehouse(counts)).toEqual(['nord', 'sued'].map((brand) => ({ brand, count: 200 })));
  const views = `select relname from pg_class where relnamespace = 'bi'::regnamespace and relkind = 'v'`;
  const names = valuesOf(await both.warehouse(views));
  expect(names).toContain('freshness');
  for (const name of names) {
    const plan = valuesOf(
      await both.warehouse(`explain (analyze, verbose) select * from bi.${name} where brand = 'nord'`),
    );
    const read = plan.filter((line) => /Scan .*_sued\.(?!.*never executed)/.test(String(line)));
    expect({ name, read }).toEqual({ name, read: [] });
  }
  const mayRead = (role: string) =>
    both.warehouse(
      `select has_schema_privilege($1, split_part(name, '.', 1), 'usage') and has_table_privilege($1, name, 'select') as may
       from unnest(array['bi.reviews', 'bi_nord.reviews', 'bi_sued.reviews', 'warehouse_nord.reviews']) as name`,
      [role],
    );
  expect(valuesOf(await mayRead('bi_reader'))).toEqual([true, true, true, false]);
  expect(valuesOf(await mayRead('bi_reader_nord'))).toEqual([false, true, false, false]);

  // A field that is promoted in one brand is a column of all, null in the others, also if the views are made again.
  await both.warehouse(`update warehouse_sued.reviews set extra = '{"tier": "gold"}'`);
  const tiers = async () => valuesOf(await both.warehouse('select distinct tier, brand from bi.reviews order by 2'));
  await both.ends(0, 'migrate --promote extra.tier:text --brand sued');
  expect(await tiers()).toEqual([null, 'gold']);
  await both.warehouse('drop view bi.reviews');
  await both.ends(0, 'migrate', 'Up to date.');
  expect(await tiers()).toEqual([null, 'gold']);
  // A column has one type: it is null for a brand that has promoted the field with another one.
  await both.ends(0, 'migrate --promote extra.tier:jsonb --brand nord');
  expect(await tiers()).toEqual([null, null]);
});

test('export parquet gives each brand a folder of its own', async () => {
  const dir = await temporaryFolder();
  await both.ends(0, `export parquet --to ${dir}`);
  expect((await readdir(dir)).sort()).toEqual(['brand=nord', 'brand=sued']);
});

test('one serve takes the webhooks of all brands, each part by its brand_id', async () => {
  const [secret, token] = ['a-secret-part-of-the-path', 'a-token-of-the-page'];
  const held = await lock(both, 'sync_sued.settings');
  const unread = join(both.folder, 'unread.env');
  await writeFile(unread, 'WEBHOOK_BRAND_IDS=9\n');
  await chmod(unread, 0o666);
  const its = { WEBHOOK_SECRET: secret, STATUS_TOKEN: token, PORT: '0', LOG_LEVEL: 'info' };
  const url = await addressOf(startHere(['serve'], { ...both.environment, ...its }));
  const post = async (body: unknown) => (await postWebhook(url, secret, body)).status;
  const product = (score: number, id = 5) => ({ id, reviews_count: 7, score });
  const summary = (brand_id: number, score: number) => ({ brand_id, products: [product(score)] });
  const ratings = (name: string) =>
    both.warehouse(`select product_id::integer as id, score::float8 from warehouse_${name}.product_ratings`);
  // A brand that cannot be opened stops its own part only: the service is to send the body again.
  expect(await post([summary(2, 8), summary(1, 2)])).toBe(503);
  expect(await ratings('nord')).toEqual([{ id: 5, score: 2 }]);
  // Nobody knows which brand_id stands in a file that cannot be read.
  expect(await post([summary(9, 9)])).toBe(503);
  const headers = { authorization: `Bearer ${token}` };
  const get = async (path: string) => (await fetch(`${url}${path}`, { headers })).text();
  expect(await get('/')).toMatch(/nord<.*sued<.*unread<.*unread\.env cannot be read/s);
  await rm(unread);
  await held[Symbol.asyncDispose]();
  const all = [summary(1, 1), summary(3, 3), { brand_id: 2, reviews: [{ id: 4711 }] }];
  await until(async () => (await post(all)) === 200);
  expect(await ratings('nord')).toEqual([{ id: 5, score: 1 }]);
  expect(await ratings('sued')).toEqual([{ id: 5, score: 3 }]);

  // Unknown ones do not stop the others, and a retry takes nothing of them until a file names the brand_id.
  await until(async () => (await post([summary(9, 9), summary(1, 5)])) === 200);
  const letters = (name: string) =>
    both.warehouse(`select key, attempts from sync_${name}.dead_letters where resolved_at is null`);
  expect(await post([{ brand_id: 9, products: [product(1, 8), { id: 'x' }] }])).toBe(200);
  const retry = 'dead-letters retry --brand nord';
  await both.ends(1, retry);
  expect(await ratings('nord')).toEqual([{ id: 5, score: 5 }]);
  expect([await letters('nord'), await letters('sued')]).toEqual([[{ key: 'brand_id 9', attempts: 2 }], []]);
  await both.write('nord', { WEBHOOK_BRAND_IDS: '1,9' });
  await both.ends(1, retry, /^1 of 1 record/);
  expect(await ratings('nord')).toContainEqual({ id: 8, score: 1 });
  expect(await letters('nord')).toEqual([{ key: expect.stringContaining('sha256'), attempts: 1 }]);
  await both.write('nord');

  expect(await get('/')).toMatch(/href="\/\?brand=nord".*href="\/\?brand=sued"/s);
  expect(await get('/?brand=nord')).toContain('of the brand nord');
  expect(await get('/metrics')).toMatch(/^review_sync_dead_letters\{kind="webhook",brand="nord"\} 1$/m);

  // A part that cannot be stored: the service is to send the whole body again.
  await both.warehouse('alter table warehouse_sued.product_ratings rename to away');
  expect(await post([summary(1, 2), summary(2, 2)])).toBe(503);
  expect(await ratings('nord')).toContainEqual({ id: 5, score: 2 });
  await both.warehouse('alter table warehouse_sued.away rename to product_ratings');
});

test('a brand under a new name is refused: all its orders would be pushed again', async () => {
  await rename(join(both.folder, 'sued.env'), join(both.folder, 'zwei.env'));
  await cp(join(both.folder, 'sued'), join(both.folder, 'zwei'), { recursive: true });
  // The views over all brands are made again, although the last brand fails.
  await both.warehouse('drop view bi.reviews');
  await both.ends(2, 'migrate');
  expect(await both.warehouse('select distinct brand from bi.reviews')).toHaveLength(2);
  await both.ends(2, 'migrate --brand zwei', 'belongs to the brand sued of this warehouse');
  expect(await both.warehouse(`select to_regnamespace('sync_zwei') is null as none`)).toEqual([{ none: true }]);
});

test('a brand is dropped alone, once its file is gone', async () => {
  await both.ends(2, 'migrate --drop-brand nord --apply', 'the brand is in use');
  await both.ends(2, 'migrate --drop-brand sued --apply --brand nord', 'cannot be used with');
  // Without BRANDS_DIR nobody says that the brand is not in use.
  const { BRANDS_DIR: _, ...without } = { ...both.worlds.nord?.environment, ...both.environment };
  const end = await runCli(['migrate', '--drop-brand', 'sued', '--apply'], without);
  expect(end).toMatchObject({ status: 2, stderr: expect.stringContaining('BRANDS_DIR is not set') });
  // A schema of somebody else that is named like one of a brand.
  await both.warehouse('create schema sync_alt; create table sync_alt.settings ()');
  await both.ends(0, 'migrate --drop-brand sued', '200 reviews, 30 orders');
  await both.ends(0, 'migrate --drop-brand sued --apply');
  const left = `select to_regnamespace('sync_sued') as schema, to_regrole('bi_reader_sued') as role,
    array(select scheduler_id from bullmq.scheduler where scheduler_id like 'sued/%') as schedules`;
  expect(await both.warehouse(left)).toEqual([{ schema: null, role: null, schedules: [] }]);
  expect(await both.warehouse('select distinct brand from bi.reviews')).toEqual([{ brand: 'nord' }]);
  await both.ends(0, 'verify orders --brand nord');
});

test('a warehouse becomes that of a brand, and nothing is sent again', async () => {
  await using brands = await openBrands({ bleibt: { shop: 'sample' }, geht: {} });
  const bleibt = brands.worlds.bleibt;
  if (!bleibt) throw new Error('there is no world bleibt');
  brands.environment.WAREHOUSE_DATABASE_URL = bleibt.warehouseUrl;
  for (const flow of ['reviews', 'catalog', 'orders']) await bleibt.done(`sync-${flow}`);
  await brands.ends(2, 'migrate --brand geht', 'migrate --as-brand NAME');
  await brands.ends(2, 'migrate --as-brand geht', '');
  await rm(join(brands.folder, 'geht.env'));
  await brands.ends(0, 'migrate --as-brand bleibt');
  const schemas = await brands.warehouse(
    `select nspname from pg_namespace where nspname ~ '^(sync|warehouse|bi)(_|$)' order by 1`,
  );
  expect(valuesOf(schemas)).toEqual(['bi', 'bi_bleibt', 'sync_bleibt', 'warehouse_bleibt']);
  // A plain warehouse would stand beside the brand.
  await bleibt.ends(2, 'migrate', 'BRANDS_DIR is not set');
  const writes = () =>
    Object.entries(bleibt.service.requests()).filter(([request]) => /^(POST|PUT|DELETE) \/v1/.test(request));
  const before = writes();
  for (const what of ['reviews', 'catalog', 'orders']) await brands.ends(0, `sync ${what}`);
  expect(writes()).toEqual(before);
  await expectExact(brands, 'bleibt');
  // Bodies of functions name the schemas, too.
  await brands.warehouse(`insert into sync_bleibt.dead_letters (kind, key, reason, payload) values ('order', 'x', 'r', '{}');
    update sync_bleibt.dead_letters set resolved_at = now()`);
});

type Variables = Record<string, string>;

/** What is read of a folder of brands with these variables each, and perhaps another `orders.sql`. */
async function brandsOf(files: Record<string, Variables>, all: Variables) {
  const folder = await temporaryFolder();
  for (const [name, { 'orders.sql': query = 'select', ...variables }] of Object.entries(files)) {
    const usual = { [url]: `http://${name}.test`, SHOP_DATABASE_URL: `postgres://u@${name}.test/shop` };
    await writeFile(join(folder, `${name}.env`), fileOf({ ...usual, ...variables }), own);
    await mkdir(join(folder, name));
    await writeFile(join(folder, name, 'orders.sql'), query);
  }
  return readBrands({ BRANDS_DIR: folder, WAREHOUSE_DATABASE_URL: 'postgres://u@w.test/w', ...all }) ?? [];
}

const account = 'The brands a and b have the same REVIEW_API_BASE_URL and REVIEW_API_CLIENT_ID';
const shop = { SHOP_DATABASE_URL: 'postgres://u@a.test/shop' };
const orders = /^The brands a and b have the same SHOP_DATABASE_URL and the same orders\.sql/;
const [url, age, deletes] = ['REVIEW_API_BASE_URL', 'ORDER_CONTACT_MAX_AGE_DAYS', 'ORDER_DELETES'] as const;
const wrong = (variable: string) => `${variable} is malformed`;
const ids = (some: string) => ({ WEBHOOK_BRAND_IDS: some });
const one = 'both have 2 in WEBHOOK_BRAND_IDS';
// The fault of b stops it, so that b stops no other by its account.
const foreign = { [url]: 'http://a.test/', QUEUE_URL: 'redis://q', STATUS_TOKEN: 'x' };
const misplaced = /b\.env has QUEUE_URL, STATUS_TOKEN: expected in \.env, once for all brands/;

type Fault = string | RegExp;
test.each<[what: string, a: Variables, b: Variables, all: Variables, ofA: Fault, ofB: Fault]>([
  ['nothing wrong', {}, {}, {}, '', ''],
  ['one account', {}, { [url]: 'http://a.test/' }, {}, account, account],
  ['variables of all brands', {}, foreign, {}, '', misplaced],
  ['a wrong value', {}, { [age]: 'many' }, {}, '', wrong(age)],
  ['a right age where that of .env is wrong', { [age]: '7' }, {}, { [age]: '0 days' }, wrong(age), wrong(age)],
  [
    'a right word where .env has a wrong one',
    { [deletes]: 'send' },
    {},
    { [deletes]: 'no' },
    wrong(deletes),
    wrong(deletes),
  ],
  ['one brand id', ids('2'), ids('1,2'), {}, one, one],
  ['one source of orders', {}, shop, {}, orders, orders],
  ['two sources in one database', {}, { ...shop, 'orders.sql': `where shop = 'b'` }, {}, '', ''],
])('with %s in the files of two brands, it is said which cannot be used', async (_, a, b, all, ofA, ofB) => {
  const expected: Record<string, Fault> = { 'Big-Name': 'has no usable name', a: ofA, b: ofB };
  for (const brand of await brandsOf({ 'Big-Name': {}, a, b }, all)) {
    const fault = expected[brand.name ?? ''];
    if (fault) expect(() => configOf(brand)).toThrow(fault);
    else expect(configOf(brand)).toMatchObject({ brand: brand.name });
  }
});

test.each<[all: Variables, own: Variables, days: number, deletes: string]>([
  [{ [age]: '0', [deletes]: 'off' }, { [age]: '7', [deletes]: 'send' }, 0, 'off'],
  [{ [age]: '0' }, { [age]: '' }, 0, 'off'],
  [{ [age]: '7', [deletes]: 'send' }, { [age]: '0' }, 0, 'send'],
  [{ [age]: '40' }, { [age]: '7', [deletes]: 'send' }, 7, 'send'],
  [{}, { [age]: '40' }, 40, 'off'],
])('of %j in .env and %j in the file of a brand the stricter counts', async (all, a, days, deleted) => {
  const [brand] = await brandsOf({ a }, all);
  expect(brand && configOf(brand)).toMatchObject({ orderContactMaxAgeDays: days, orderDeletes: deleted });
});
