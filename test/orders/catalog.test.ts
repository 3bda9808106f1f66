import { expect } from 'vitest';
import { syncCategories, syncUserGrades } from '../../src/orders/catalog/sync-catalog.ts';
import { openWarehouse } from '../../src/warehouse/index.ts';
import { learnProducts, productIds } from '../../src/warehouse/products.ts';
import { createOrderShop, orderShopQueries, writeQueries } from '../harness/order-world.ts';
import { type Change, startChangingProxy } from '../harness/proxy.ts';
import { orderDeps } from '../harness/sync-orders.ts';
import { openTestWarehouse } from '../harness/warehouse.ts';
import { type OpenWorld, worldTest as test, type World } from '../harness/world.ts';

const catalogQueries = {
  categories: 'select code, name, parent as parent_code, status from c order by code',
  user_grades: 'select code, name, icon as icon_url from g',
};

async function catalogWorld(open: OpenWorld, change?: Change): Promise<World> {
  const folder = await orderShopQueries(catalogQueries);
  const world = await open({ environment: { SHOP_SQL_DIR: folder } });
  if (change) await world.through((url) => startChangingProxy(url, change));
  await createOrderShop(world.shopUrl);
  await world.shop(
    'create table c (code text, name text, parent text, status text); create table g (code text, name text, icon text)',
  );
  return world;
}

const syncCatalog = (world: World) => world.run('sync-catalog');
const byCommand = (world: World) => world.cli('sync', 'catalog', '--json');
const counts = async (world: World) => (await syncCatalog(world)).counts;
const openLetters = (world: World) =>
  world.warehouse('select kind, key, reason from sync.dead_letters where resolved_at is null order by kind, key');
const parents = (world: World) =>
  world.atService(`select c.code, p.code as parent from reference_service.categories c
    left join reference_service.categories p on p.id = c.parent_category_id order by c.code`);
const named = (world: World, what: 'categories' | 'user_grades', columns = 'name') =>
  world.atService(`select ${columns} from reference_service.${what} order by ${what === 'categories' ? 'code' : 'id'}`);
const gradeLinks = (world: World, columns = 'user_grade_code as code') =>
  world.warehouse(`select ${columns} from sync.user_grade_links order by user_grade_code`);
const writes = (world: World) =>
  Object.entries(world.service.requests()).filter(([route]) => /^(POST|PATCH) \/v1/.test(route));

test('parents come before children; a cycle and an unknown parent are dead letters', async ({ openWorld }) => {
  const world = await catalogWorld(openWorld);
  await world.shop(`insert into c values ('a-leaf', 'Leaf', 'b-branch'), ('b-branch', 'Branch', 'c-root'), ('c-root', 'Root', null),
    ('x', 'X', 'y'), ('y', 'Y', 'x'), ('z-below', 'Below', 'x'), ('lost', 'Lost', 'nowhere')`);
  expect((await syncCatalog(world)).outcome).toBe('incomplete');
  expect(await openLetters(world)).toMatchObject([
    { key: 'lost', reason: 'its parent nowhere is not among the categories' },
    { key: 'x', reason: 'its parents form a cycle; the nearest is y' },
    { key: 'y', reason: 'its parents form a cycle; the nearest is x' },
    { key: 'z-below', reason: 'its parents form a cycle; the nearest is x' },
  ]);
  const good = [
    { code: 'a-leaf', parent: 'b-branch' },
    { code: 'b-branch', parent: 'c-root' },
    { code: 'c-root', parent: null },
  ];
  expect(await parents(world)).toEqual(good);
  const sent = writes(world);
  await syncCatalog(world);
  expect(writes(world)).toEqual(sent);
  // The service has the parent of the leaf, which alone fails.
  await world.shop(
    `update c set parent = 'nowhere' where code = 'b-branch'; update c set name = 'L' where code = 'a-leaf'`,
  );
  await syncCatalog(world);
  expect((await openLetters(world)).map(({ key }) => key)).toEqual(['b-branch', 'lost', 'x', 'y', 'z-below']);
  expect(await named(world, 'categories')).toMatchObject([{ name: 'L' }, { name: 'Branch' }, { name: 'Root' }]);
  await world.shop(`update c set parent = 'c-root' where code = 'b-branch';
    update c set parent = null where code in ('y', 'lost')`);
  expect((await syncCatalog(world)).outcome).toBe('done');
  expect(await parents(world)).toHaveLength(7);
  // No line waits for a product, so no order is looked through for one.
  expect(world.service.requests()).not.toHaveProperty('GET /v1/orders');
});

test('a grade is created once, renamed, and found by its name when its link or the response is lost', async ({
  openWorld,
}) => {
  let creations = 0;
  let isListEmpty = false;
  const world = await catalogWorld(openWorld, {
    answer(answer, { method, path }) {
      if (path !== '/v1/user_grades') return;
      // The service has created the first and the third, and nobody learns of that.
      if (method === 'POST' && [1, 3].includes(++creations)) Object.assign(answer, { status: 502, body: {} });
      if (method === 'GET' && isListEmpty) answer.body = [];
    },
  });
  const syncs = async (...names: string[]) => {
    // The next run finds a grade whose creation got no response.
    if ((await syncCatalog(world)).outcome === 'incomplete') expect((await syncCatalog(world)).outcome).toBe('done');
    expect(await named(world, 'user_grades')).toEqual(names.map((name) => ({ name })));
  };
  await world.shop(`insert into g values ('G1', 'Silver'), ('G2', 'Gold')`);
  await syncs('Silver', 'Gold');
  for (const name of ['A &amp; B', 'A & B']) {
    await world.shop(`update g set name = '${name}' where code = 'G2'`);
    await syncs('Silver', name);
  }
  await world.shop(`update g set name = 'Platinum' where code = 'G2'`);
  await syncs('Silver', 'Platinum');
  await world.warehouse('delete from sync.user_grade_links');
  await syncs('Silver', 'Platinum');
  isListEmpty = true;
  await syncs('Silver', 'Platinum');
  isListEmpty = false;
  // The code is decomposed and has a space: the links have it as orders do.
  await world.shop(`update g set code = 'SI\u0301LVER ' where code = 'G1'`);
  await syncs('Silver', 'Platinum');
  // A service may write names in its own way.
  await world.atService('update reference_service.user_grades set name = upper(name)');
  await world.warehouse('delete from sync.user_grade_links');
  await syncs('Silver', 'Platinum');
  // Two of the shop with one name are two at the service.
  await world.shop(`insert into g values ('G3', 'Silver')`);
  await syncs('Silver', 'Platinum', 'Silver');
  expect(await gradeLinks(world, 'user_grade_code as code, user_grade_id::integer as id')).toEqual([
    { code: 'G2', id: 2 },
    { code: 'G3', id: 3 },
    { code: 'S\u00cdLVER', id: 1 },
  ]);
});

test('another spelling there makes no second grade; a second code is a dead letter', async ({ openWorld }) => {
  const world = await catalogWorld(openWorld, {
    call({ form }) {
      if (form.has('name')) form.set('name', (form.get('name') ?? '').toUpperCase().slice(0, 5));
      if (form.has('code')) form.set('code', (form.get('code') ?? '').toLowerCase().replace(/^0+/, ''));
    },
  });
  await world.shop(`insert into g values ('G1', 'Silver 🥈'), ('G2', 'Gold');
    insert into c values ('C1', 'Shoes'), ('1', 'Boots'), ('01', 'Hats'), ('c1', 'Shirts')`);
  for (let run = 1; run <= 2; run += 1) {
    expect((await syncCatalog(world)).outcome).toBe('incomplete');
    const reason = expect.stringContaining('this code and "1"');
    expect(await openLetters(world)).toMatchObject([
      { kind: 'category', key: '01', reason },
      { kind: 'category', key: 'c1', reason: expect.stringContaining('this code and "C1"') },
    ]);
  }
  expect(await named(world, 'user_grades')).toEqual([{ name: 'SILVE' }, { name: 'GOLD' }]);
  expect(world.service.requests()).toMatchObject({ 'POST /v1/categories': 6 });
});

test('what the shop changes or clears reaches the service, also below a bad row', async ({ openWorld }) => {
  const world = await catalogWorld(openWorld);
  await world.shop(`insert into c values ('C1', 'Shoes', null, null), ('C2', 'Boots', 'C1', 'visible'), ('C3', 'Hats', null, 'visible');
    insert into g values ('G1', 'Silver', 'https://shop.example.com/s.png')`);
  expect((await syncCatalog(world)).outcome).toBe('done');
  await world.shop(`update c set name = null where code = 'C1'; update c set name = 'Heels' where code = 'C2';
    update c set status = 'hidden' where code = 'C3'; update g set icon = 'https://shop.example.com/new.png'`);
  expect((await syncCatalog(world)).outcome).toBe('incomplete');
  expect(await openLetters(world)).toMatchObject([{ kind: 'category', key: 'C1' }]);
  expect(await named(world, 'categories', 'code, name, status')).toEqual([
    { code: 'C1', name: 'Shoes', status: 'visible' },
    { code: 'C2', name: 'Heels', status: 'visible' },
    { code: 'C3', name: 'Hats', status: 'hidden' },
  ]);
  const icons = () => named(world, 'user_grades', 'icon_url as icon');
  expect(await icons()).toEqual([{ icon: 'https://shop.example.com/new.png' }]);
  expect(await parents(world)).toContainEqual({ code: 'C2', parent: 'C1' });
  // A column that the query lacks clears nothing, nor does a row that is deleted.
  const folder = world.environment.SHOP_SQL_DIR;
  await writeQueries(folder, { categories: 'select code, name from c', user_grades: 'select code, name from g' });
  await world.shop(
    `update c set parent = null, name = 'Shoes' where code <> 'C3'; update g set icon = null; delete from c where code = 'C3'`,
  );
  expect((await syncCatalog(world)).outcome).toBe('done');
  expect(await parents(world)).toContainEqual({ code: 'C2', parent: 'C1' });
  expect(await icons()).toEqual([{ icon: 'https://shop.example.com/new.png' }]);
  await writeQueries(folder, catalogQueries);
  expect((await syncCatalog(world)).outcome).toBe('done');
  expect(await parents(world)).toContainEqual({ code: 'C2', parent: null });
  expect(await icons()).toEqual([{ icon: null }]);
  await world.shop('delete from c; delete from g');
  expect((await syncCatalog(world)).outcome).toBe('done');
  expect(await named(world, 'categories')).toHaveLength(3);
  expect(await icons()).toHaveLength(1);
});

test('two runs at once, and one that loses the warehouse, create each grade once', async ({ openWorld }) => {
  const world = await catalogWorld(openWorld);
  const insert = (from: number, to: number) =>
    world.shop(`insert into g (code, name) select 'G' || n, 'Grade ' || n from generate_series(${from}, ${to}) n`);
  await insert(1, 8);
  await Promise.all([byCommand(world), byCommand(world)]);
  expect(await named(world, 'user_grades')).toHaveLength(8);
  await insert(9, 12);
  const deps = orderDeps(await world.openApp());
  const { userGrades } = deps.api;
  const lose = () =>
    world.warehouse(`select pg_terminate_backend(pid) from pg_locks
      where relation = 'sync.user_grade_links'::regclass and mode = 'ShareRowExclusiveLock'`);
  // Between the look and the creation, while another run creates all.
  const afterLook: typeof userGrades.listAll = async function* () {
    yield* userGrades.listAll();
    if ((await lose()).length > 0) await syncCatalog(world);
  };
  const api = { ...deps.api, userGrades: { ...userGrades, listAll: afterLook } };
  await expect(syncUserGrades({ ...deps, api })).rejects.toThrow();
  expect(await named(world, 'user_grades')).toHaveLength(12);
  expect(await counts(world)).not.toHaveProperty('user_grades_pushed');
  expect(await named(world, 'user_grades')).toHaveLength(12);
});

test('a product that no review names is learned from 3,000 orders of the service', async ({ openWorld }) => {
  const world = await catalogWorld(openWorld);
  await world.shop(`insert into o (code) values ('W');
    insert into l (order_code, line_code, product_code) values ('W', '1', 'P3000'), ('W', '2', 'P3001'), ('W', '3', 'P1')`);
  expect((await world.run('sync-orders')).outcome).toBe('done');
  await world.atService(`
    with product as (
      insert into reference_service.products (id, code) values (77, 'P3000'), (78, 'P3001'), (79, 'P1') returning id, code
    ),
    placed as (
      insert into reference_service.orders (code, total_price, created_at, updated_at)
      select n, 1, timestamptz '2026-01-01' + n * interval '1 minute', now() from generate_series(1, 3001) n returning id, code
    )
    insert into reference_service.sub_orders (order_id, product_id, created_at, updated_at)
    select placed.id, product.id, now(), now() from placed join product on product.code = 'P' || placed.code`);
  expect(await counts(world)).toMatchObject({ products_learned: 2 });
  expect(await world.run('sync-orders')).toMatchObject({ outcome: 'done' });
  expect(
    await world.atService(`select s.product_id::integer as id from reference_service.sub_orders s
      join reference_service.orders o on o.id = s.order_id where o.code = 'W' order by 1`),
  ).toEqual([{ id: 77 }, { id: 79 }]);
});

test('an order carries its customer’s grade, also one that is made again or retried', async ({ openWorld }) => {
  const world = await catalogWorld(openWorld);
  // Its code is in another form of Unicode in orders.sql.
  await world.shop(`insert into g (code, name) values ('G1', 'Silver'), ('É2', 'Gold');
    alter table o add column user_grade_code text; insert into o (code, user_grade_code) values ('A', 'É2 ')`);
  const gradesOfOrders = () =>
    world.atService(`select g.name from reference_service.orders o
      left join reference_service.user_grades g on g.id = o.user_grade_id order by o.code`);
  const pushed = async () => {
    expect((await world.run('sync-orders')).outcome).toBe('done');
    return gradesOfOrders();
  };
  // The order is pushed before its grade is known, and gets it afterwards.
  expect(await pushed()).toEqual([{ name: null }]);
  const stdout = expect.stringContaining('1 order with lines or a grade that wait');
  expect(await world.cli('verify', 'orders')).toMatchObject({ status: 0, stdout });
  expect((await syncCatalog(world)).outcome).toBe('done');
  expect(await pushed()).toEqual([{ name: 'Gold' }]);
  // The grade is deleted at the service.
  await world.atService(`update reference_service.orders set user_grade_id = null;
    delete from reference_service.user_grades where name = 'Gold'`);
  expect(await counts(world)).toMatchObject({ user_grades_pushed: 1 });
  expect(await gradeLinks(world, 'user_grade_id')).toEqual(await named(world, 'user_grades', 'id as user_grade_id'));
  expect(await pushed()).toEqual([{ name: 'Gold' }]);
  const sent = writes(world);
  await counts(world);
  expect(writes(world)).toEqual(sent);
  // A grade and an order that failed are tried again together, the grade first.
  await world.shop(
    `insert into g (code, name) values ('G9', 'Bronze'); insert into o (code, user_grade_code) values ('B', 'G9')`,
  );
  await world.warehouse(`insert into sync.dead_letters (kind, key, order_code, reason, payload)
    values ('order', 'B', 'B', 'test', '{}'), ('user_grade', 'G9', null, 'test', '{}')`);
  expect(await world.cli('dead-letters retry')).toMatchObject({ status: 0 });
  expect(await gradesOfOrders()).toEqual([{ name: 'Gold' }, { name: 'Bronze' }]);
  // The catalog is read as a whole, for a category too.
  await world.warehouse(`update sync.dead_letters set resolved_at = null, kind = 'category' where id = 2`);
  await world.shop(`insert into g (code, name) values ('G10', '')`);
  expect(await world.cli('dead-letters retry 2')).toMatchObject({
    status: 1,
    stdout: expect.stringMatching(/^sync catalog: incomplete\. .*1 of 1 record: synced/s),
  });
});

test('one bad row costs one row; after five in a row the service counts as down', async ({ openWorld }) => {
  const sent = new Map<string, number>();
  let isDown = false;
  const world = await catalogWorld(openWorld, {
    call({ form }) {
      if (form.get('code') === 'broken') form.set('status', 'broken');
      if (form.get('name') === 'Broken grade') form.delete('name');
    },
    answer(answer, { method, path, form }) {
      const isGrade = method === 'POST' && path === '/v1/user_grades' && !form.has('name');
      const isFailing = isDown && method === 'POST' && path === '/v1/categories';
      if (form.get('status') !== 'broken' && !isGrade && !isFailing) return;
      sent.set(path, (sent.get(path) ?? 0) + 1);
      Object.assign(answer, { status: 500, body: { error: 'broken' } });
    },
  });
  await writeQueries(world.environment.SHOP_SQL_DIR, {
    categories: `select code, name, case when name = 'odd' then (name::integer)::text else parent end as parent_code from c`,
  });
  await world.shop(`insert into c values ('fine', 'Fine', null), ('cast', 'odd', null), ('twice', 'A', null),
    ('twice ', 'B', null), ('broken', 'Broken', null), ('below', 'Below', 'broken'), ('', 'Nameless', null), (null, 'Codeless', null);
    insert into g (code, name) values ('G1', 'A'), ('G1', 'B'), ('G2', 'C'), ('G3', null), ('G4', 'Broken grade')`);
  const cast = expect.stringMatching(/^categories\.sql: a row cannot be read: .*SQLSTATE 22P02/);
  const key = expect.stringMatching(/^sha256:/);
  const nameless = { kind: 'category', key, reason: 'code is an empty text, expected a value' };
  const deps = orderDeps(await world.openApp(), { limits: { giveUpAfterMs: 100, settleMs: 1 } });
  for (let run = 1; run <= 2; run += 1) {
    sent.clear();
    await syncCategories(deps);
    await syncUserGrades(deps);
    expect(sent.get('/v1/user_grades')).toBe(1);
    expect(await parents(world)).toEqual([{ code: 'fine', parent: null }]);
    expect(await named(world, 'user_grades')).toEqual([{ name: 'C' }]);
    expect(await openLetters(world)).toEqual([
      { kind: 'category', key: 'below', reason: 'its parent broken could not be synced' },
      { kind: 'category', key: 'broken', reason: expect.stringContaining('failed on this request') },
      { kind: 'category', key: 'cast', reason: cast },
      nameless,
      { kind: 'category', key: nameless.key, reason: 'code is null, expected a value' },
      { kind: 'category', key: 'twice', reason: expect.stringContaining('code is there in 2 rows') },
      { kind: 'user_grade', key: 'G1', reason: expect.stringContaining('code is there in 2 rows') },
      { kind: 'user_grade', key: 'G3', reason: 'name is null, expected a value' },
      { kind: 'user_grade', key: 'G4', reason: expect.stringMatching(/POST \/v1\/user_grades/) },
    ]);
  }
  // Corrected, reverted or deleted: the dead letter closes by itself. The empty code stays while its row is there.
  await world.shop(`update c set name = 'Cast' where code = 'cast'; delete from c where name = 'B' or code is null;
    delete from c where code in ('broken', 'below'); delete from g where name = 'B'; delete from g where code in ('G3', 'G4')`);
  expect((await syncCatalog(world)).outcome).toBe('incomplete');
  expect(await openLetters(world)).toEqual([nameless]);
  await world.shop(`delete from c where code = ''; insert into g (code, name) values ('G5', null)`);
  expect((await syncCatalog(world)).outcome).toBe('incomplete');
  await world.shop(`delete from g where code = 'G5'`);
  expect((await syncCatalog(world)).outcome).toBe('done');

  isDown = true;
  await world.shop(`delete from c; insert into c select 'C' || n, 'Category', null from generate_series(1, 6) n`);
  await expect(syncCategories(deps)).rejects.toMatchObject({ code: 'unavailable' });
  expect(await openLetters(world)).toEqual([]);
  await world.warehouse(`insert into sync.dead_letters (kind, key, reason, payload)
    select 'category', 'C' || n, '500', '{}' from generate_series(1, 6) n`);
  expect(await syncCategories(deps)).toEqual({ categories: 6 });
  expect(await openLetters(world)).toHaveLength(6);
});

test('a product is stored when it is named again; the higher of two ids counts', async () => {
  const { url, ask, warehouse: here } = await openTestWarehouse();
  await using elsewhere = await openWarehouse({ url, connections: 1 });
  const learn = (warehouse: typeof here, ...ids: number[]) =>
    learnProducts(
      warehouse,
      ids.map((product_id, n) => ({ product_code: n % 2 ? 'E\u0301 ' : '\u00c9', product_id })),
    );
  await ask('alter table sync.product_links rename to elsewhere');
  await expect(learn(here, 7)).rejects.toThrow('product_links');
  await ask('alter table sync.elsewhere rename to product_links');
  for (const [warehouse, ids, known] of [
    [here, [0], undefined],
    [here, [7], 7],
    [here, [7, 9, 8], 9],
    [elsewhere, [8], 9],
    [elsewhere, [12], 12],
    [here, [11, 10], 12],
  ] as const) {
    await learn(warehouse, ...ids);
    expect(await ask('select product_id::integer as id from sync.product_links')).toEqual(known ? [{ id: known }] : []);
    expect(await productIds(here.db, ['E\u0301'])).toEqual(new Map(known ? [['\u00c9', known]] : []));
  }
  // The shop and the service compose the characters of a code differently.
  await learnProducts(here, [{ product_code: '신발', product_id: 7 }]);
  expect(await productIds(here.db, ['신발'.normalize('NFD')])).toEqual(new Map([['신발', 7]]));
});
