import { appendFile, chmod, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Brands, openBrands } from '../harness/brands.ts';
import { addressOf, type CliEnd, runCli, startCli, startHere, until } from '../harness/cli.ts';

const documentOf = ({ stdout }: CliEnd) =>
  (JSON.parse(stdout) as { brands: Record<string, { error?: { message: string }; outcome?: string }> }).brands;

type PlanNode = { 'Actual Loops': number; Schema?: string; Plans?: PlanNode[] };

const nodesOf = (node: PlanNode | undefined): PlanNode[] =>
  node ? [node, ...(node.Plans ?? []).flatMap(nodesOf)] : [];

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

/** Lines wait until a review shows the id of their product, so that the first runs of a worker leave some. */
async function untilExact(brands: Brands, name: string): Promise<void> {
  const isExact = () =>
    expectExact(brands, name).then(
      () => true,
      () => false,
    );
  await until(isExact).catch(() => expectExact(brands, name));
}

/** Two brands with the same order numbers, product ids and review ids, synced. */
let both: Brands;
beforeAll(async () => {
  both = await openBrands(['nord', 'sued']);
  await both.cli('migrate');
  for (const flow of ['reviews', 'catalog', 'orders'])
    expect(await both.cli('sync', flow)).toMatchObject({ status: 0 });
});
afterAll(() => both[Symbol.asyncDispose]());

test('two brands with the same order numbers, product ids and review ids end exact, with forget in one', async () => {
  const brands = both;
  const names = ['nord', 'sued'];
  for (const name of names) await expectExact(brands, name);

  const rowsOf = (name: string) =>
    brands.warehouse(
      `select id, user_code, user_name, message, order_code, images::text from warehouse_${name}.reviews order by id`,
    );
  const linksOf = (name: string) =>
    brands.warehouse(`select order_code, order_id, fingerprint, contact from sync_${name}.order_links order by 1`);
  const before = { reviews: await rowsOf('sued'), links: await linksOf('sued') };
  const [customer] = await brands.warehouse<{ code: string }>(
    `select user_code as code from warehouse_nord.reviews where user_code is not null and order_code is not null limit 1`,
  );
  const code = customer?.code ?? '';
  const asked = await brands.cli('forget', 'user', code, '--apply');
  expect(asked).toMatchObject({ status: 2, stderr: expect.stringContaining('--brand and one of nord, sued') });
  expect(await brands.cli('forget', 'user', code, '--apply', '--brand', 'nord')).toMatchObject({ status: 0 });
  const named = (name: string) =>
    brands.warehouse(`select from warehouse_${name}.reviews where user_code = $1`, [code]);
  expect(await named('nord')).toEqual([]);
  expect(await named('sued')).not.toEqual([]);
  expect({ reviews: await rowsOf('sued'), links: await linksOf('sued') }).toEqual(before);

  // The next run of the brand that was not touched has nothing to do.
  const again = await brands.cli('sync', 'orders', '--brand', 'sued', '--json');
  expect(JSON.parse(again.stdout)).toEqual({ outcome: 'done', counts: { lines_waiting: 0 } });
  for (const name of names) expect(await brands.cli('verify', 'orders', '--brand', name)).toMatchObject({ status: 0 });
});

test('a brand whose service refuses it or whose query is broken changes nothing for the other', async () => {
  const query = join(both.folder, 'sued', 'orders.sql');
  const right = await readFile(query, 'utf8');
  // A service that does not respond is tried for minutes; this one refuses at once.
  await both.write('sued', { REVIEW_API_CLIENT_SECRET: 'wrong' });
  const reviews = await both.cli('sync', 'reviews', '--json');
  expect(reviews).toMatchObject({ status: 1, stderr: expect.stringContaining('brand sued: ') });
  expect(documentOf(reviews)).toMatchObject({
    nord: { outcome: 'done' },
    sued: { error: { message: expect.any(String) } },
  });
  await both.write('sued');
  await writeFile(query, 'select nothing from nowhere');
  for (const flow of ['catalog', 'orders']) {
    const end = await both.cli('sync', flow, '--json');
    // A query that does not fit the contract is a wrong configuration.
    expect(end.status).toBe(2);
    expect(documentOf(end)).toMatchObject({
      nord: { outcome: 'done' },
      sued: { error: { message: expect.stringContaining('orders.sql') } },
    });
  }
  await writeFile(query, right);
  await chmod(join(both.folder, 'nord.env'), 0o644);
  expect(await both.cli('doctor', '--brand', 'nord')).toMatchObject({
    status: 0,
    stdout: expect.stringContaining('nord.env, which holds passwords, can be read by other users'),
  });
  await chmod(join(both.folder, 'nord.env'), 0o600);
  const status = await both.cli('status');
  expect(status).toMatchObject({ status: 0 });
  expect(status.stdout.match(/^brand \w+$/gm)).toEqual(['brand nord', 'brand sued']);
});

test('commands over all brands go on with the others where one is locked, and name it and the session', async () => {
  const holder = new pg.Client({ connectionString: both.warehouseUrl, application_name: 'psql of somebody' });
  await holder.connect();
  await using _ = { [Symbol.asyncDispose]: () => holder.end() };
  await holder.query('begin; lock table sync_nord.runs, sync_nord.settings');
  const commands = [['status'], ['doctor'], ['verify', 'reviews'], ['sync', 'reviews'], ['sync', 'orders']];
  const ends = await Promise.all(commands.map((args) => both.cli(...args, '--json')));
  for (const [at, end] of ends.entries()) {
    const { nord, sued } = documentOf(end);
    expect({ at, status: end.status, sued: sued?.error }).toEqual({ at, status: 1, sued: undefined });
    const said = JSON.stringify(nord);
    expect(said).toContain('another session holds a lock on the table');
  }
  const [status, doctor] = ends;
  expect(status?.stderr).toMatch(/^brand nord: a transaction is open in its schemas: .*application psql of somebody/m);
  expect(doctor?.stdout).toContain('let it finish, or end that session');
  await holder.query('rollback');
  expect(await both.cli('status')).toMatchObject({ status: 0 });
});

test('while a table of one brand is locked, serve shows the other, and ends on a signal', async () => {
  const token = 'a-token-of-the-page';
  const more = { STATUS_TOKEN: token, ALERT_WEBHOOK_URL: 'http://127.0.0.1:1/', PORT: '0', LOG_LEVEL: 'info' };
  const serve = startHere(['serve'], { ...both.environment, ...more });
  const url = await addressOf(serve);
  const page = (brand: string) => fetch(`${url}/?brand=${brand}`, { headers: { authorization: `Bearer ${token}` } });
  await until(async () => (await page('nord')).ok && (await page('sued')).ok);
  const holder = new pg.Client({ connectionString: both.warehouseUrl });
  await holder.connect();
  await using _ = { [Symbol.asyncDispose]: () => holder.end() };
  await holder.query('begin; lock table sync_nord.runs');
  const isLocked = async () => (await page('nord')).status === 503;
  await Promise.all([until(isLocked), page('sued').then(({ status }) => expect(status).toBe(200))]);
  serve.kill('SIGTERM');
  expect(await serve.ended).toMatchObject({ status: 0 });
});

test('two brands whose accounts are swapped are refused, although each account knows the records of the other', async () => {
  const [nord, sued] = [both.worlds.nord, both.worlds.sued];
  const requests = () => [nord?.service.requests(), sued?.service.requests()];
  const before = requests();
  await both.write('nord', { REVIEW_API_BASE_URL: sued?.serviceUrl ?? '' });
  await both.write('sued', { REVIEW_API_BASE_URL: nord?.serviceUrl ?? '' });
  for (const flow of ['reviews', 'orders']) {
    const end = await both.cli('sync', flow, '--json');
    expect({ status: end.status, ...documentOf(end) }).toMatchObject({
      status: 2,
      nord: { error: { message: expect.stringContaining('belongs to the brand sued of this warehouse') } },
      sued: { error: { message: expect.stringContaining('belongs to the brand nord of this warehouse') } },
    });
  }
  expect(requests()).toEqual(before);
  for (const name of ['nord', 'sued']) await both.write(name);
  expect(await both.cli('sync', 'reviews')).toMatchObject({ status: 0 });
});

test('bi shows all brands, a question about one reads only that one, and a role reads one or all', async () => {
  const brands = both;
  expect(await brands.warehouse('select brand, count(*)::integer as n from bi.reviews group by 1 order by 1')).toEqual([
    { brand: 'nord', n: 200 },
    { brand: 'sued', n: 200 },
  ]);
  const views = await brands.warehouse<{ name: string }>(
    `select relname as name from pg_class where relnamespace = 'bi'::regnamespace and relkind = 'v' order by 1`,
  );
  expect(views.map(({ name }) => name)).toContain('freshness');
  for (const { name } of views) {
    const [explained] = await brands.warehouse<{ 'QUERY PLAN': { Plan: PlanNode }[] }>(
      `explain (analyze, verbose, format json) select * from bi.${name} where brand = 'nord'`,
    );
    const read = nodesOf(explained?.['QUERY PLAN'][0]?.Plan).filter((node) => node['Actual Loops'] > 0);
    expect({ name, read: read.filter(({ Schema = '' }) => Schema.endsWith('_sued')) }).toEqual({ name, read: [] });
    const uncommented = await brands.warehouse(
      `select attname from pg_attribute where attrelid = 'bi.${name}'::regclass and attnum > 0 and col_description(attrelid, attnum) is null`,
    );
    expect(uncommented).toEqual([]);
  }
  const mayRead = (role: string) =>
    brands.warehouse(
      `select r.name, has_schema_privilege($1, split_part(r.name, '.', 1), 'usage') and has_table_privilege($1, r.name, 'select') as may
       from unnest(array['bi.reviews', 'bi_nord.reviews', 'bi_sued.reviews', 'warehouse_nord.reviews']) as r (name)`,
      [role],
    );
  expect((await mayRead('bi_reader')).map(({ may }) => may)).toEqual([true, true, true, false]);
  expect((await mayRead('bi_reader_nord')).map(({ may }) => may)).toEqual([false, true, false, false]);

  // A field that is promoted in one brand is a column of all, null in the others.
  await brands.warehouse(`update warehouse_sued.reviews set extra = '{"tier": "gold"}'`);
  const promoted = await brands.cli('migrate', '--promote', 'extra.tier:text', '--brand', 'sued');
  expect(promoted).toMatchObject({ status: 0 });
  expect(await brands.warehouse('select distinct brand, tier from bi.reviews order by 1')).toEqual([
    { brand: 'nord', tier: null },
    { brand: 'sued', tier: 'gold' },
  ]);
  // Also where the views are made again.
  await brands.warehouse('drop view bi.reviews');
  expect(await brands.cli('migrate')).toMatchObject({ status: 0, stdout: expect.stringContaining('Up to date.') });
  expect(await brands.warehouse('select distinct brand, tier from bi.reviews')).toHaveLength(2);
});

test('what is wrong in the files of brands is said of the brand, and in its place', async () => {
  await using brands = await openBrands(['a', 'b', 'c'], { shop: 'empty' });
  await brands.cli('migrate');
  const same = 'The brands a and b have the same REVIEW_API_BASE_URL and REVIEW_API_CLIENT_ID';
  const account = { REVIEW_API_BASE_URL: `${brands.worlds.a?.serviceUrl}/` };
  await brands.write('b', account);
  const end = await brands.cli('sync', 'reviews', '--json');
  expect(end.status).toBe(2);
  expect(documentOf(end)).toMatchObject({
    a: { error: { message: same } },
    b: { error: { message: same } },
    c: { outcome: 'done' },
  });

  const failureOf = async (name: string) => documentOf(await brands.cli('status', '--json'))[name]?.error?.message;
  // Its own fault stops it, so it stops no other by its account.
  await brands.write('b', { ...account, STATUS_TOKEN: 'x', QUEUE_URL: 'redis://127.0.0.1:1' });
  expect(await failureOf('b')).toMatch(/b\.env has QUEUE_URL, STATUS_TOKEN: expected in \.env, once for all brands/);
  expect(await failureOf('a')).toBeUndefined();
  await brands.write('b', { ORDER_CONTACT_MAX_AGE_DAYS: 'many' });
  expect(await failureOf('b')).toMatch(/ORDER_CONTACT_MAX_AGE_DAYS is malformed/);
  for (const [name, stop, others] of [
    ['ORDER_CONTACT_MAX_AGE_DAYS', '0', ['7', '']],
    ['ORDER_DELETES', 'off', ['send']],
  ] as const) {
    brands.environment[name] = stop;
    for (const other of others) {
      await brands.write('b', { [name]: other });
      expect(await failureOf('b')).toMatch(`${name} is ${stop} in .env or the environment, and "${other}" in `);
    }
    await brands.write('b', { [name]: stop });
    expect(await failureOf('b')).toBeUndefined();
    expect(await failureOf('a')).toBeUndefined();
    delete brands.environment[name];
  }
  await brands.write('b', { WEBHOOK_BRAND_IDS: '1,2' });
  await brands.write('a', { WEBHOOK_BRAND_IDS: '2' });
  expect(await failureOf('b')).toBe('The brands a and b both have 2 in WEBHOOK_BRAND_IDS');
  await brands.write('a');
  expect(await failureOf('b')).toBeUndefined();
  await brands.write('b', { SHOP_DATABASE_URL: brands.worlds.a?.shopUrl ?? '' });
  for (const name of ['a', 'b'])
    expect(await failureOf(name)).toMatch(
      /^The brands a and b have the same SHOP_DATABASE_URL and the same orders\.sql/,
    );
  await appendFile(join(brands.folder, 'b', 'orders.sql'), "where st.store_name = 'b'\n");
  expect(await failureOf('b')).toBeUndefined();
  // A query that cannot be read.
  await rm(join(brands.folder, 'b', 'orders.sql'));
  await mkdir(join(brands.folder, 'b', 'orders.sql'));
  expect(await failureOf('a')).toBeUndefined();
  await writeFile(join(brands.folder, 'Big-Name.env'), '');
  expect(await failureOf('Big-Name')).toMatch(/has no usable name/);

  const shared = await brands.cli('status');
  expect(shared.status).toBe(2);
  brands.environment.REVIEW_API_CLIENT_ID = 'demo';
  expect(await brands.cli('status')).toMatchObject({
    status: 2,
    stderr: expect.stringMatching(
      /REVIEW_API_CLIENT_ID must not be in the environment or in \.env: expected in .*<brand>\.env/,
    ),
  });
  delete brands.environment.REVIEW_API_CLIENT_ID;
  expect(await brands.cli('status', '--brand', 'd')).toMatchObject({
    status: 2,
    stderr: expect.stringContaining('Big-Name, a, b, c'),
  });
  for (const args of [
    ['explain', 'order', '1'],
    ['preview', 'order', '1'],
    ['dead-letters', 'show', '1'],
  ]) {
    expect(await brands.cli(...args)).toMatchObject({
      status: 2,
      stderr: expect.stringContaining('add --brand and one of'),
    });
  }

  // A file under a new name would push all orders again.
  await rm(join(brands.folder, 'Big-Name.env'));
  await brands.cli('sync', 'reviews', '--brand', 'c');
  await rm(join(brands.folder, 'c.env'));
  await brands.write('b', { REVIEW_API_BASE_URL: brands.worlds.b?.serviceUrl ?? '' });
  const c = brands.worlds.c;
  if (c) Object.assign(brands.worlds, { neu: c });
  await brands.write('neu');
  // The views over all brands cannot be made either, which must not hide the reason.
  await brands.warehouse('drop view bi.reviews');
  await brands.warehouse('create table bi.reviews ()');
  const renamed = await brands.cli('migrate', '--brand', 'neu');
  expect(renamed).toMatchObject({
    status: 2,
    stderr: expect.stringContaining('belongs to the brand c of this warehouse'),
  });
  expect(await brands.warehouse(`select to_regnamespace('sync_neu') is null as none`)).toEqual([{ none: true }]);
});

const every = (seconds: number) => `*/${seconds} * * * * *`;
const empty = { shop: 'empty' as const };

test('one worker runs all brands: a dead service and a broken query change nothing for the third, nor a new brand', async () => {
  const schedules = {
    SCHEDULE_ORDERS: every(5),
    SCHEDULE_REVIEWS: every(5),
    SCHEDULE_CATALOG: '',
    SCHEDULE_RECONCILE: '',
  };
  const environment = { ...schedules, LOG_LEVEL: 'info', TAKE_OVER_SECONDS: '3' };
  await using brands = await openBrands(
    ['dead', 'healthy', 'neu', 'query'],
    { environment },
    { dead: empty, query: empty },
  );
  await rm(join(brands.folder, 'neu.env'));
  expect(await brands.cli('migrate')).toMatchObject({ status: 0 });
  await brands.write('dead', { REVIEW_API_BASE_URL: 'http://127.0.0.1:1' });
  await writeFile(join(brands.folder, 'query', 'orders.sql'), 'select nothing from nowhere');
  await writeFile(join(brands.folder, 'unreadable.env'), 'QUEUE_URL=redis://127.0.0.1:1', { mode: 0o600 });

  const worker = startCli(['worker'], brands.environment);
  await worker.says('"worker ready"');
  await worker.says('unreadable.env has QUEUE_URL');
  const done = (name: string) =>
    brands.warehouse<{ job: string }>(
      `select distinct job from sync_${name}.runs where outcome = 'done' and job in ('sync-orders', 'sync-reviews') order by 1`,
    );
  await until(async () => (await done('healthy')).length === 2);
  await until(async () => (await done('query')).some(({ job }) => job === 'sync-reviews'));
  await untilExact(brands, 'healthy');
  expect((await done('query')).map(({ job }) => job)).not.toContain('sync-orders');
  expect(await done('dead')).toEqual([]);

  // A brand is added without stopping anything, and another one leaves.
  await brands.write('neu');
  expect(await brands.cli('migrate', '--brand', 'neu')).toMatchObject({ status: 0 });
  await until(async () => (await done('neu')).length === 2);
  await untilExact(brands, 'neu');
  await rm(join(brands.folder, 'neu.env'));
  await worker.says('the brand is not served any more');

  // What is in hand of the dead brand goes back to the queue, and another worker continues all brands.
  worker.kill('SIGKILL');
  await worker.ended;
  await brands.worlds.healthy?.shop(
    `update shop.orders set buyer_name = 'Neu', modified_at = now() where order_id = (select max(order_id) from shop.orders)`,
  );
  const second = startHere(['worker'], brands.environment);
  const named = `select from reference_service.orders where user_name = 'Neu'`;
  await until(async () => (await brands.worlds.healthy?.atService(named))?.length === 1);
  second.kill('SIGTERM');
  expect((await second.ended).status).toBe(0);
});

test('one serve takes the webhooks of all brands: each part by its brand_id, and an unknown one is one dead letter', async () => {
  const secret = 'a-secret-part-of-the-path';
  const token = 'a-token-of-the-page';
  await using brands = await openBrands(
    ['nord', 'sued', 'zu'],
    { shop: 'empty', environment: { WEBHOOK_SECRET: secret, STATUS_TOKEN: token, PORT: '0', LOG_LEVEL: 'info' } },
    {
      nord: { environment: { WEBHOOK_BRAND_IDS: '1' } },
      sued: { environment: { WEBHOOK_BRAND_IDS: '2,3' } },
      zu: { environment: { WEBHOOK_BRAND_IDS: '8' } },
    },
  );
  expect(await brands.cli('migrate')).toMatchObject({ status: 0 });
  const holder = new pg.Client({ connectionString: brands.warehouseUrl });
  await holder.connect();
  await using _ = { [Symbol.asyncDispose]: () => holder.end() };
  await holder.query('begin; lock table sync_zu.settings');
  const serve = startHere(['serve'], brands.environment);
  const url = await addressOf(serve);
  const post = async (body: unknown) => {
    const response = await fetch(`${url}/webhooks/${secret}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    return response.status;
  };
  const summary = (brandId: number, score: number) => ({
    brand_id: brandId,
    products: [{ id: 5, code: 'P5', reviews_count: 7, score }],
  });
  expect(await post([summary(1, 1), summary(3, 3), { brand_id: 2, reviews: [{ id: 4711 }] }])).toBe(200);
  const ratings = (name: string) =>
    brands.warehouse(`select product_id::integer as id, score::float8 from warehouse_${name}.product_ratings`);
  expect(await ratings('nord')).toEqual([{ id: 5, score: 1 }]);
  expect(await ratings('sued')).toEqual([{ id: 5, score: 3 }]);

  // A brand that cannot be opened stops its own part only: the service is to send the body again.
  expect(await post([summary(8, 8), summary(1, 2)])).toBe(503);
  expect(await ratings('nord')).toEqual([{ id: 5, score: 2 }]);

  // Unknown ones do not stop the others, and come again and again.
  for (const score of [4, 5]) expect(await post([summary(9, 9), summary(9, 8), summary(1, score)])).toBe(200);
  expect(await ratings('nord')).toEqual([{ id: 5, score: 5 }]);
  const letters = (name: string) =>
    brands.warehouse(`select key, attempts from sync_${name}.dead_letters where resolved_at is null`);
  expect(await letters('nord')).toEqual([{ key: 'brand_id 9', attempts: 2 }]);
  expect(await letters('sued')).toEqual([]);
  // Nobody has claimed it, so a retry closes nothing.
  await brands.cli('dead-letters', 'retry', '--brand', 'nord');
  expect(await letters('nord')).toHaveLength(1);

  const get = async (path: string) =>
    (await fetch(`${url}${path}`, { headers: { authorization: `Bearer ${token}` } })).text();
  const overview = await get('/');
  expect(overview).toContain('href="/?brand=nord"');
  expect(overview).toContain('href="/?brand=sued"');
  expect(await get('/?brand=nord')).toContain('of the brand nord');
  const metrics = await get('/metrics');
  expect(metrics).toMatch(/^review_sync_dead_letters\{kind="webhook",brand="nord"\} 1$/m);
  expect(metrics).toMatch(/^review_sync_queue_up\{brand="sued"\} 1$/m);

  // A part that cannot be stored: the service is to send the whole body again.
  await brands.warehouse('alter table warehouse_sued.product_ratings rename to away');
  expect(await post([summary(1, 2), summary(2, 2)])).toBe(503);
  expect(await ratings('nord')).toEqual([{ id: 5, score: 2 }]);
  expect(await post([summary(1, 3)])).toBe(200);
  expect(await get('/metrics')).toMatch(/^review_sync_queue_up\{brand="nord"\} 1$/m);
});

test('a warehouse becomes that of a brand, nothing is sent again; one is dropped alone', async () => {
  await using brands = await openBrands(['bleibt', 'geht']);
  const bleibt = brands.worlds.bleibt;
  if (!bleibt) throw new Error('there is no world bleibt');
  const plain = { ...bleibt.environment, WAREHOUSE_DATABASE_URL: brands.warehouseUrl };
  for (const args of [['migrate'], ['sync', 'reviews'], ['sync', 'catalog'], ['sync', 'orders']]) {
    expect(await runCli(args, plain)).toMatchObject({ status: 0 });
  }
  expect(await brands.cli('migrate', '--brand', 'geht')).toMatchObject({
    status: 2,
    stderr: expect.stringContaining('migrate --as-brand NAME'),
  });
  expect(await brands.cli('migrate', '--as-brand', 'geht')).toMatchObject({ status: 2 });
  expect(await brands.cli('migrate', '--as-brand', 'bleibt')).toMatchObject({ status: 0 });
  expect(await brands.cli('migrate')).toMatchObject({ status: 0 });
  const schemas = await brands.warehouse<{ name: string }>(
    `select nspname as name from pg_namespace where nspname ~ '^(sync|warehouse|bi)(_|$)' order by 1`,
  );
  expect(schemas.map(({ name }) => name)).toEqual([
    'bi',
    'bi_bleibt',
    'bi_geht',
    'sync_bleibt',
    'sync_geht',
    'warehouse_bleibt',
    'warehouse_geht',
  ]);
  const writes = () =>
    Object.entries(bleibt.service.requests()).filter(([request]) => /^(POST|PUT|DELETE) \/v1/.test(request));
  const before = writes();
  expect(await brands.cli('sync', 'reviews')).toMatchObject({ status: 0 });
  for (const flow of ['catalog', 'orders'])
    expect(await brands.cli('sync', flow, '--brand', 'bleibt')).toMatchObject({ status: 0 });
  expect(writes()).toEqual(before);
  await expectExact(brands, 'bleibt');
  expect(
    await brands.warehouse('select brand, count(*)::integer as n from bi.reviews group by 1 order by 1'),
  ).toHaveLength(2);
  // Bodies of functions name the schemas too.
  await brands.warehouse(
    `insert into sync_bleibt.dead_letters (kind, key, reason, payload) values ('order', 'x', 'r', '{"a": 1}')`,
  );
  await brands.warehouse(`update sync_bleibt.dead_letters set resolved_at = now() where key = 'x'`);

  expect(await brands.cli('migrate', '--drop-brand', 'geht', '--apply')).toMatchObject({
    status: 2,
    stderr: expect.stringContaining('the brand is in use'),
  });
  await rm(join(brands.folder, 'geht.env'));
  // Without BRANDS_DIR nobody says that the brand is not in use, and a plain warehouse would stand beside the brands.
  const { BRANDS_DIR: _, ...without } = brands.environment;
  for (const args of [['--drop-brand', 'geht', '--apply'], []]) {
    const end = await runCli(['migrate', ...args], { ...plain, ...without });
    expect(end).toMatchObject({ status: 2, stderr: expect.stringContaining('BRANDS_DIR is not set') });
  }
  for (const other of [['--as-brand', 'bleibt'], ['--rebuild'], ['--brand', 'bleibt']]) {
    const end = await brands.cli('migrate', '--drop-brand', 'geht', '--apply', ...other);
    expect(end).toMatchObject({ status: 2, stderr: expect.stringContaining('cannot be used with') });
  }
  // A schema of somebody else that is named like one of a brand.
  await brands.warehouse('create schema sync_alt');
  await brands.warehouse('create table sync_alt.settings ()');
  const said = await brands.cli('migrate', '--drop-brand', 'geht');
  expect(said).toMatchObject({ status: 0, stdout: expect.stringContaining('200 reviews, 0 orders') });
  expect(await brands.cli('migrate', '--drop-brand', 'geht', '--apply')).toMatchObject({ status: 0 });
  expect(
    await brands.warehouse(
      `select to_regnamespace('sync_geht') is null as gone, to_regrole('bi_reader_geht') is null as role`,
    ),
  ).toEqual([{ gone: true, role: true }]);
  expect(await brands.warehouse('select distinct brand from bi.reviews')).toEqual([{ brand: 'bleibt' }]);
  await expectExact(brands, 'bleibt');
});
