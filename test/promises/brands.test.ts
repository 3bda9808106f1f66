import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { type Brands, openBrands } from '../harness/brands.ts';
import type { CliEnd } from '../harness/cli.ts';

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

test('a brand whose service is dead and one whose query is broken change nothing for the third', async () => {
  await using brands = await openBrands(['dead', 'healthy', 'query']);
  expect(await brands.cli('migrate')).toMatchObject({ status: 0 });
  // A service that does not respond is tried for minutes; this one refuses at once.
  await brands.write('dead', { REVIEW_API_CLIENT_SECRET: 'wrong' });
  await writeFile(join(brands.folder, 'query', 'orders.sql'), 'select nothing from nowhere');

  const reviews = await brands.cli('sync', 'reviews', '--json');
  expect(reviews.status).toBe(1);
  expect(documentOf(reviews)).toMatchObject({
    dead: { error: { message: expect.any(String) } },
    healthy: { outcome: 'done' },
    query: { outcome: 'done' },
  });
  expect(reviews.stderr).toContain('brand dead: ');
  for (const flow of ['catalog', 'orders']) {
    const end = await brands.cli('sync', flow, '--json');
    // A query that does not fit the contract is a wrong configuration.
    expect(end.status).toBe(2);
    expect(documentOf(end)).toMatchObject({ healthy: { outcome: 'done' } });
    expect(documentOf(end).query?.error?.message).toMatch(/orders\.sql/);
  }
  await expectExact(brands, 'healthy');
  expect(await brands.cli('verify', 'reviews', '--brand', 'healthy')).toMatchObject({ status: 0 });
  expect(await brands.cli('doctor', '--brand', 'healthy')).toMatchObject({ status: 0 });
  const status = await brands.cli('status');
  expect(status).toMatchObject({ status: 0 });
  expect(status.stdout.match(/^brand \w+$/gm)).toEqual(['brand dead', 'brand healthy', 'brand query']);
});

test('two brands with the same order numbers, product ids and review ids end exact, with forget in one', async () => {
  await using brands = await openBrands(['nord', 'sued']);
  await brands.cli('migrate');
  for (const flow of ['reviews', 'catalog', 'orders'])
    expect(await brands.cli('sync', flow)).toMatchObject({ status: 0 });
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

test('bi shows all brands, a question about one reads only that one, and a role reads one or all', async () => {
  await using brands = await openBrands(['nord', 'sued']);
  await brands.cli('migrate');
  await brands.cli('sync', 'reviews');
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

  // A brand is added without stopping anything else.
  expect(await brands.cli('migrate')).toMatchObject({ status: 0, stdout: expect.stringContaining('Up to date.') });
});

test('what is wrong in the files of brands is said of the brand, and in its place', async () => {
  await using brands = await openBrands(['a', 'b', 'c']);
  await brands.cli('migrate');
  const both = 'The brands a and b have the same REVIEW_API_BASE_URL and REVIEW_API_CLIENT_ID';
  await brands.write('b', { REVIEW_API_BASE_URL: `${brands.worlds.a?.serviceUrl}/` });
  const end = await brands.cli('sync', 'reviews', '--json');
  expect(end.status).toBe(2);
  expect(documentOf(end)).toMatchObject({
    a: { error: { message: both } },
    b: { error: { message: both } },
    c: { outcome: 'done' },
  });

  const failureOf = async (name: string) => documentOf(await brands.cli('status', '--json'))[name]?.error?.message;
  await brands.write('b', { STATUS_TOKEN: 'x', QUEUE_URL: 'redis://127.0.0.1:1' });
  expect(await failureOf('b')).toMatch(/b\.env has QUEUE_URL, STATUS_TOKEN: expected in \.env, once for all brands/);
  expect(await failureOf('a')).toBeUndefined();
  await brands.write('b', { ORDER_CONTACT_MAX_AGE_DAYS: 'many' });
  expect(await failureOf('b')).toMatch(/ORDER_CONTACT_MAX_AGE_DAYS is malformed/);
  await brands.write('b', { WEBHOOK_BRAND_IDS: '1,2' });
  await brands.write('a', { WEBHOOK_BRAND_IDS: '2' });
  expect(await failureOf('b')).toBe('The brands a and b both have 2 in WEBHOOK_BRAND_IDS');
  await brands.write('a');
  expect(await failureOf('b')).toBeUndefined();
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
  const renamed = await brands.cli('migrate', '--brand', 'neu');
  expect(renamed).toMatchObject({
    status: 2,
    stderr: expect.stringContaining('belongs to the brand c of this warehouse'),
  });
  expect(await brands.warehouse(`select to_regnamespace('sync_neu') is null as none`)).toEqual([{ none: true }]);
});
