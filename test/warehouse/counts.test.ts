import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { sql } from 'kysely';
import { beforeEach, expect, test } from 'vitest';
import { checkPage } from '../../src/reviews/read/list-page.ts';
import { createRandom } from '../../src/sandbox/sample-shop/random.ts';
import { prepareBi } from '../../src/warehouse/bi/bi-access.ts';
import { withBiSnapshot } from '../../src/warehouse/bi/bi-snapshot.ts';
import { recount, recountAll } from '../../src/warehouse/bi/recount.ts';
import { maskTraces } from '../../src/warehouse/forget.ts';
import type { Warehouse } from '../../src/warehouse/index.ts';
import { setCreations } from '../../src/warehouse/orders/known-orders.ts';
import {
  LeaseLostError,
  type OrderStore,
  openOrderStore,
  type PushRecord,
} from '../../src/warehouse/orders/order-store.ts';
import { learnProducts } from '../../src/warehouse/products.ts';
import { markDeleted } from '../../src/warehouse/reviews/absent-reviews.ts';
import { landPage } from '../../src/warehouse/reviews/land-reviews.ts';
import { until } from '../harness/cli.ts';
import { emptyPush, openOrderWorld, order, line as shopLine } from '../harness/order-world.ts';
import { isExhaustive, testSeed } from '../harness/sampled.ts';
import { openTestWarehouse } from '../harness/warehouse.ts';
import { hourlyReviews } from '../harness/world.ts';

let warehouse: Warehouse;
beforeEach(async () => {
  ({ warehouse } = await openTestWarehouse(6));
});

const run = async (text: string) => (await warehouse.pool.query(text)).rows;

const viewsByRow = await readFile(join(import.meta.dirname, 'views-by-row.sql'), 'utf8');

/** The rows that differ between a view of bi answered from counts and the view of `by_row`, which reads each row. */
async function differencesByRow() {
  const [there] = await run(`select to_regnamespace('by_row') is not null as is_there`);
  if (there?.is_there !== true) await run(viewsByRow);
  const views = await run(`
    select relname as name from pg_class
    where relnamespace = 'by_row'::regnamespace and to_regclass('bi.' || relname) is not null`);
  expect(views).toHaveLength(12);
  const differing = views.map(
    ({ name }) => `select '${name}' as view, to_jsonb(differing) as row from (
      (select 'too much' as is, * from bi.${name} except all select 'too much', * from by_row.${name})
      union all
      (select 'missing', * from by_row.${name} except all select 'missing', * from bi.${name})
    ) as differing`,
  );
  return run(differing.join(' union all '));
}

const plausible = { start: Date.parse('2000-01-01T00:00:00Z') / 1000, end: Date.parse('2030-01-01T00:00:00Z') / 1000 };

async function land(reviews: readonly object[]): Promise<void> {
  const rawBody = Buffer.from(JSON.stringify(reviews));
  await landPage(warehouse, { rawBody, check: checkPage(reviews, plausible, rawBody) });
}

const updates = { count: 0 };
/** A version of a review that is newer than all before. */
function version(id: number, more: object = {}): object {
  updates.count += 1;
  return {
    id,
    created_at: '2026-01-10T00:00:00Z',
    updated_at: new Date(Date.UTC(2026, 5, 1) + updates.count).toISOString(),
    score: 5,
    product_id: 1,
    product_code: 'one',
    ...more,
  };
}

type Line = {
  lineCode: string;
  subOrderId: number | null;
  product: number;
  status?: string;
  deliveredAt?: string | null;
};

const line = { lineCode: '1', subOrderId: 1, product: 1 };

/** Pushes an order: saves its lines before the requests, and records them afterwards. */
async function push(store: OrderStore, code: string, orderedAt: Date | null, lines: Line[]) {
  const leased = await store.lease({ code, contact: 'allowed', isForGood: false, orderedAt });
  if ('leasedBy' in leased) return;
  const links = lines.map(({ lineCode, subOrderId, product, status = 'paid', deliveredAt = null }) => ({
    lineCode,
    subOrderId,
    content: { product_id: product, price: '10', status, delivered_at: deliveredAt },
    isOurs: true,
    idsBefore: null,
  })) as unknown as PushRecord['lines'];
  await store.saveLines(leased, links);
  await store.record(leased, { ...emptyPush, orderedAt, lines: links });
}

const rounds = isExhaustive ? 10 : 2;
test('beside writers, counts that follow what was touched are those of all rows', async () => {
  const store = openOrderStore(warehouse, { leaseMs: 300 });
  const at = (hours: number) => new Date(Date.UTC(2026, 0, 20) + hours * 3_600_000).toISOString();
  // Most keys of these products are not touched again: a key that a statement does not touch stays wrong to the end.
  const rarely = (random: ReturnType<typeof createRandom>) => random.integer(4, 60);
  const landing = async (seed: number) => {
    const random = createRandom(seed);
    const one = (id: number) =>
      version(id, {
        // No two reviews have one moment: either could then be the newest. Two months without a review lie before the
        // last one.
        created_at: at(random.pick([random.integer(0, 1500), random.integer(0, 1500), 3400]) + id / 100),
        score: random.pick([5, 4, 3, 2, 1, null]),
        display: random.pick([true, false]),
        images_count: random.integer(0, 2),
        videos_count: random.integer(0, 1),
        source: random.pick(['sms', 'email', '', null]),
        product_id: random.pick([0, 1, 2, 3, null, rarely(random), rarely(random)]),
        product_code: random.pick(['one', 'two', '', null]),
        order_code: random.pick([`o${random.integer(1, 12)}`, null]),
        user_code: random.pick(['kim', 'lee']),
      });
    for (let page = 0; page < 5 * rounds; page += 1) {
      const ids = new Set(Array.from({ length: 12 }, () => random.integer(1, 60)));
      await land([...ids].map(one));
      await markDeleted(warehouse.db, [random.integer(1, 60)], new Date());
      if (page % 5 === 2) await maskTraces(warehouse.db, { userCode: 'kim', orders: [] });
    }
  };
  // The other writers forget customers, also of orders that are being pushed.
  const unlessLost = (error: unknown) => {
    if (!(error instanceof LeaseLostError)) throw error;
  };
  const pushing = async (seed: number) => {
    const random = createRandom(seed);
    for (let pushed = 0; pushed < 12 * rounds; pushed += 1) {
      const code = `o${random.integer(1, 12)}`;
      if (random.integer(0, 9) === 0) {
        const leased = await store.lease({ code, contact: 'allowed', isForGood: false, orderedAt: null });
        if (!('leasedBy' in leased)) await store.forget(leased).catch(unlessLost);
        continue;
      }
      const lines = ['1', '2', '3'].map((lineCode) => ({
        lineCode,
        subOrderId: random.pick([random.integer(1, 9), random.integer(1, 9), null]),
        product: random.pick([1, 2, 3, rarely(random)]),
        deliveredAt: random.pick([at(random.integer(0, 1500)), null]),
      }));
      await push(store, code, new Date(at(random.integer(0, 1500))), lines).catch(unlessLost);
      await learnProducts(warehouse, [{ product_code: `P${random.integer(1, 4)}`, product_id: random.integer(1, 3) }]);
    }
  };
  let isWriting = true;
  const counting = [1, 2].map(async () => {
    while (isWriting) await recount(warehouse.db);
  });
  // Summaries come by webhook, and are counted with the reviews that the shop shows.
  await run('insert into warehouse.product_ratings (product_id, reviews_count, received_at) values (1, 9, now())');
  // Nobody forgets this delivery, nor its review.
  await push(store, 'o0', null, [{ lineCode: '1', subOrderId: 90, product: 90, deliveredAt: at(0) }]);
  await land([version(90, { product_id: 90, order_code: 'o0' })]);
  const writing = Promise.all([landing(testSeed), landing(testSeed + 1), pushing(testSeed), pushing(testSeed + 1)]);
  await writing.finally(() => {
    isWriting = false;
  });
  await Promise.all(counting);
  await recount(warehouse.db);
  expect(await run('table sync.touches')).toEqual([]);
  expect(await differencesByRow()).toEqual([]);
  expect(await run('select 1 from bi.time_to_review where days is not null')).not.toEqual([]);
});

const shown = async () => (await run('select reviews from bi.reviews_by_product')).map(({ reviews }) => reviews);

test('counting everything again needs no touches: changed, deleted, no rows at all', async () => {
  await land(
    Array.from({ length: 40 }, (_, n) => version(n + 1, { order_code: `o${n % 9}`, product_id: 1 + (n % 2) })),
  );
  const store = openOrderStore(warehouse, { leaseMs: 60_000 });
  for (let n = 0; n < 9; n += 1)
    await push(store, `o${n}`, new Date(), [{ ...line, subOrderId: n + 1, deliveredAt: '2026-01-02T00:00:00Z' }]);
  await recount(warehouse.db);
  for (const byHand of [
    'update warehouse.reviews set product_id = 2, score = 1 where id < 20',
    'delete from warehouse.reviews where id < 20; delete from sync.sub_order_links where order_code < $$o5$$',
    'truncate warehouse.reviews; truncate sync.sub_order_links; truncate sync.order_links',
  ]) {
    expect(await differencesByRow()).toEqual([]);
    await run(byHand);
    expect(await differencesByRow()).not.toEqual([]);
    await recountAll(warehouse.db);
  }
  expect(await differencesByRow()).toEqual([]);
});

/** The months by whose rows `export parquet` knows that they changed, with their versions. */
const versions = () => withBiSnapshot(warehouse, async ({ months }) => new Map(months));

test('the transaction of an export may be idle for as long as a file takes to write', async () => {
  const setting = `current_setting('idle_in_transaction_session_timeout')`;
  const order: string[] = [];
  const rows = await withBiSnapshot(warehouse, ({ rows: read }) =>
    Array.fromAsync(read({ view: 'freshness', order, textOf: () => setting })),
  );
  const settings = rows.flat(2);
  expect([settings[0], settings.filter((one) => one !== '0')]).toEqual(['0', []]);
});

test('a month that changes while an export counts comes with the next export', async () => {
  await land([version(1)]);
  const before = await versions();
  let reading: ReturnType<typeof versions> | undefined;
  await warehouse.db.transaction().execute(async (trx) => {
    await sql`lock table sync.settings in share update exclusive mode`.execute(trx);
    reading = versions();
    const isHeld = `select from pg_locks where not granted and relation = 'sync.settings'::regclass`;
    await until(async () => (await run(isHeld)).length > 0);
    await land([version(2), version(3, { created_at: '2026-05-10T00:00:00Z' })]);
  });
  const during = (await reading) ?? before;
  const after = await versions();
  expect(during).toEqual(before);
  expect(after.get('2026-01')).not.toBe(before.get('2026-01'));
  expect(after.has('2026-05')).toBe(true);
  expect(await versions()).toEqual(after);
});

test('forget leaves the order of no masked review behind, also just after a count', async () => {
  await land([version(1, { user_code: 'kim', order_code: 'jan' })]);
  await recount(warehouse.db);
  await maskTraces(warehouse.db, { userCode: 'kim', orders: [] });
  expect(await run('table sync.touches')).toEqual([]);
});

const jan = new Date('2026-01-05T00:00:00Z');
test('months get a new version when their rows change, and not otherwise', async () => {
  const store = openOrderStore(warehouse, { leaseMs: 60_000 });
  await land([
    version(1),
    version(2, { created_at: '2026-01-20T00:00:00Z' }),
    version(3, { created_at: '2026-02-10T00:00:00Z', user_code: 'kim' }),
    version(4, { created_at: '2026-03-10T00:00:00Z' }),
  ]);
  await push(store, 'jan', jan, [{ ...line, product: 7 }]);
  await push(store, 'feb', new Date('2026-02-05T00:00:00Z'), [{ ...line, subOrderId: 2, product: 8 }]);
  await push(store, 'old', null, [{ ...line, subOrderId: 3, product: 7 }]);
  await learnProducts(warehouse, [{ product_code: 'P8', product_id: 8 }]);
  const forgotten = async (code: string) => {
    const leased = await store.lease({ code, contact: 'allowed', isForGood: false, orderedAt: null });
    if (!('leasedBy' in leased)) await store.forget(leased);
  };
  const learn = (product_id: number) => learnProducts(warehouse, [{ product_code: 'P7', product_id }]);
  const deliveredAt = '2026-01-09T00:00:00Z';
  const returned = { ...line, product: 7, status: 'returned', deliveredAt };
  const ofJan = { created_at: '2026-01-20T00:00:00Z', score: 1 };
  const marchOfJan = { created_at: '2026-03-10T00:00:00Z', order_code: 'jan', user_code: 'lee' };
  const changes: [name: string, change: () => Promise<unknown>, months: string[]][] = [
    ['nothing', async () => {}, []],
    ['a rating', () => land([version(2, ofJan)]), ['2026-01']],
    ['likes, which no count shows', () => land([version(1, { likes_count: 9 })]), ['2026-01']],
    ['an older version', () => land([version(3, { updated_at: '2020-01-01T00:00:00Z' })]), []],
    ['a customer', () => maskTraces(warehouse.db, { userCode: 'kim', orders: [] }), ['2026-02']],
    ['a product code', () => learn(7), ['', '2026-01']],
    ['a product code that moves', () => learn(8), ['', '2026-01', '2026-02']],
    ['a status', () => push(store, 'jan', jan, [returned]), ['2026-01']],
    [
      'a date that is accepted',
      () => setCreations(warehouse.db, [{ code: 'jan', at: '2026-02-06' }]),
      ['2026-01', '2026-02'],
    ],
    ['the date before', () => setCreations(warehouse.db, [{ code: 'jan', at: '2026-01-05' }]), ['2026-01', '2026-02']],
    ['a lease', () => store.lease({ code: 'new', contact: 'allowed', isForGood: false, orderedAt: null }), []],
    ['an order that is forgotten', () => forgotten('feb'), ['2026-02']],
    ['an order that gets a review', () => land([version(1, { order_code: 'jan' })]), ['2026-01']],
    ['a review of another month', () => land([version(4, marchOfJan)]), ['2026-01', '2026-03']],
    ['its customer', () => maskTraces(warehouse.db, { userCode: 'lee', orders: [] }), ['2026-01', '2026-03']],
    ['that review again', () => land([version(4, marchOfJan)]), ['2026-01', '2026-03']],
    ['its deletion', () => markDeleted(warehouse.db, [4], new Date()), ['2026-01', '2026-03']],
    ['a date, of that order', () => push(store, 'jan', new Date('2026-03-05'), []), ['2026-01', '2026-03']],
    ['a deletion', () => markDeleted(warehouse.db, [3], new Date()), ['2026-02']],
    ['the month', () => land([version(1, { created_at: '2026-03-20T00:00:00Z' })]), ['2026-01', '2026-03']],
    ['a time zone', () => prepareBi(warehouse, { timeZone: 'America/New_York' }), ['', '2026-01', '2026-03']],
  ];
  let before = await versions();
  for (const [name, change, months] of changes) {
    await change();
    const now = await versions();
    const changed = [...now.keys()].filter((month) => now.get(month) !== before.get(month));
    expect([name, changed.sort()]).toEqual([name, months]);
    const stored = `select status, delivered_at as at, product_id::integer as product from sync.sub_order_links where status = 'returned'`;
    if (name === 'a status')
      expect(await run(stored)).toEqual([{ status: 'returned', at: new Date(deliveredAt), product: 7 }]);
    before = now;
  }
});

test('during a run, counts are made at most once a minute; freshness says as of when', async () => {
  const counted = async () => (await run('select counted_at from bi.freshness'))[0].counted_at;
  const recountAtMostOnceAMinute = () => recount(warehouse.db, { atMostEveryMs: 60_000 });
  expect(await counted()).toBeNull();
  await land([version(1)]);
  await recountAtMostOnceAMinute();
  const first = await counted();
  await land([version(2)]);
  await recountAtMostOnceAMinute();
  expect([await counted(), await shown()]).toEqual([first, [1]]);
  await run(`update sync.settings set counted_at = counted_at - interval '1 minute'`);
  await warehouse.db.transaction().execute(async (another) => {
    await sql`lock table sync.product_counts in share row exclusive mode`.execute(another);
    await recountAtMostOnceAMinute();
  });
  expect(await shown()).toEqual([1]);
  await recountAtMostOnceAMinute();
  expect(await shown()).toEqual([2]);
});

test('runs count what they changed; migrate --rebuild counts everything again', async () => {
  await using world = await openOrderWorld();
  await world.seedReviews(hourlyReviews(20));
  await world.place(order('A', shopLine('1', 1)));
  const counted = async () =>
    (await world.warehouse<{ n: number }>('select sum(reviews)::integer as n from bi.reviews_by_day'))[0]?.n;
  for (const job of ['sync-reviews', 'sync-orders']) await world.run(job);
  expect(await world.warehouse('table sync.touches')).toEqual([]);
  expect(await counted()).toBe(20);
  await world.warehouse('delete from sync.review_day_counts where score = 5');
  expect(await counted()).toBeNull();
  expect(await world.cli('migrate --rebuild')).toMatchObject({
    status: 0,
    stdout: 'Up to date.\nReviews and deliveries were counted again for the views of bi.\n',
  });
  expect(await counted()).toBe(20);
});
