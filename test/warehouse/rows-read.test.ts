import { beforeEach, expect, test } from 'vitest';
import { allowance } from '../../src/orders/limits.ts';
import { checkPage } from '../../src/reviews/read/list-page.ts';
import { recount, recountAll } from '../../src/warehouse/bi/recount.ts';
import { noteChanged, takeChangedReview } from '../../src/warehouse/changed-reviews.ts';
import { putDeadLetters, resolveDeadLetters } from '../../src/warehouse/dead-letters.ts';
import type { Warehouse } from '../../src/warehouse/index.ts';
import { dueOrders, settleGone } from '../../src/warehouse/orders/due-orders.ts';
import { setAbsent } from '../../src/warehouse/orders/known-orders.ts';
import { isOfAnother, makeDue, orderLinks } from '../../src/warehouse/orders/order-links.ts';
import { openOrderStore } from '../../src/warehouse/orders/order-store.ts';
import { learnProducts, productIds } from '../../src/warehouse/products.ts';
import { absentIn, markDeleted, suspects } from '../../src/warehouse/reviews/absent-reviews.ts';
import { commentsDue } from '../../src/warehouse/reviews/comments-due.ts';
import { compareOne, comparePage } from '../../src/warehouse/reviews/compare-reviews.ts';
import { enterSpan } from '../../src/warehouse/reviews/coverage.ts';
import { landPage } from '../../src/warehouse/reviews/land-reviews.ts';
import { emptyPush } from '../harness/order-world.ts';
import { openTestWarehouse } from '../harness/warehouse.ts';

let warehouse: Warehouse;
beforeEach(async () => {
  ({ warehouse } = await openTestWarehouse());
});

/** Not the products: a page of a hundred reviews may read all of them, which are few. */
const tables = ['sync.order_links', 'sync.sub_order_links', 'sync.dead_letters', 'warehouse.reviews'];

/** Rows of each table that the connection has read, by whatever plan. */
async function rowsRead(): Promise<Record<string, number>> {
  await warehouse.pool.query('select pg_stat_force_next_flush()');
  const { rows } = await warehouse.pool.query(
    `select schemaname || '.' || relname as name, (seq_tup_read + idx_tup_fetch)::integer as n from pg_stat_user_tables
     where schemaname || '.' || relname = any($1)`,
    [tables],
  );
  return Object.fromEntries(rows.map(({ name, n }) => [name, n]));
}

/** The tables of which `work` reads more than `most` rows. */
async function readsMuch(work: () => Promise<unknown>, most: number): Promise<Record<string, number>> {
  const before = await rowsRead();
  await work();
  const after = await rowsRead();
  const read = tables.map((name) => [name, (after[name] ?? 0) - (before[name] ?? 0)] as const);
  return Object.fromEntries(read.filter(([, n]) => n > most));
}

const size = 20_000;
/** Without `analyze`: Postgres has no statistics while a first run fills the tables. */
const filled = `
  insert into sync.order_links (order_code, order_id, contact, fingerprint, ordered_at, pushed_at, failed_pushes)
  select 'o' || n, n, 'allowed', 'f', timestamptz '2024-01-01' + n * interval '30 minutes', now() - interval '1 hour', 0
  from generate_series(1, ${size}) n;
  insert into sync.sub_order_links (order_code, line_code, sub_order_id, content, is_ours, product_id, status, delivered_at)
  select 'o' || n, k, n * 2 + k, '{}', true, n % 2000, 'paid', timestamptz '2024-01-03' + n * interval '30 minutes'
  from generate_series(1, ${size}) n cross join generate_series(0, 1) k;
  insert into sync.product_links (product_code, product_id) select 'p' || n, n from generate_series(1, ${size}) n;
  insert into sync.dead_letters (kind, key, order_code, reason, payload, last_failed_at, resolved_at)
  select kind, 'o' || n, 'o' || n, '', 'null', now() - interval '9 days', now() - interval '9 days'
  from generate_series(1, ${size / 2}) n cross join unnest('{order,review}'::text[]) as kind;
  insert into warehouse.reviews (id, created_at, updated_at, product_id, product_code, order_code, score, message)
  select n, timestamptz '2024-01-05' + n * interval '30 minutes', timestamptz '2024-01-05' + n * interval '30 minutes', n % 2000,
    'p' || n % 2000, 'o' || n, 5, 'as in the picture'
  from generate_series(1, ${size}) n;
  insert into sync.comments_due (review_id, moved_at) select n * 90, now() from generate_series(1, 200) n;
  insert into sync.absent_reviews (review_id, run_id) select n * 90, '' from generate_series(1, 200) n`;

const plausible = { start: Date.parse('2000-01-01T00:00:00Z') / 1000, end: Date.parse('2030-01-01T00:00:00Z') / 1000 };
function pageOf(reviews: readonly object[]) {
  const rawBody = Buffer.from(JSON.stringify(reviews));
  return { rawBody, check: checkPage(reviews, plausible, rawBody) };
}
const review = (id: number) => ({
  id,
  created_at: new Date(Date.UTC(2026, 0, 5) + id * 60_000).toISOString(),
  updated_at: '2026-06-01T00:00:00Z',
  score: 4,
  comments_count: 1,
  product_id: id % 2000,
  product_code: `p${id % 2000}`,
  order_code: `o${id}`,
});
const many = Array.from({ length: 150 }, (_, index) => index);

test('without statistics, too, each step of a run reads only the rows that it is about', async () => {
  const { db } = warehouse;
  await warehouse.pool.query(filled);
  await recountAll(db);
  const store = openOrderStore(warehouse, { leaseMs: 60_000 });
  const codes = many.map((n) => `o${n * 133 + 1}`);
  const few = codes.slice(0, 40);
  const lease = (code: string) => store.lease({ code, contact: 'allowed', isForGood: false, orderedAt: new Date() });
  const leaseAll = async (some: readonly string[]) => {
    const leases = await Promise.all(some.map(lease));
    return leases.flatMap((one) => ('leasedBy' in one ? [] : one));
  };
  const page = pageOf(many.map((n) => review(n * 133 + 1)));
  const steps: Record<string, () => Promise<unknown>> = {
    readLinks: () => orderLinks(db, few),
    readProducts: () =>
      productIds(
        db,
        many.map((n) => `p${n * 9}`),
      ),
    async push() {
      const leased = await leaseAll([...codes, ...many.map((n) => `new${n}`)]);
      expect(leased).toHaveLength(300);
      const changed = ({ lines }: (typeof leased)[number]) => lines.map((line) => ({ ...line }));
      await Promise.all(leased.map((one) => store.saveLines(one, changed(one))));
      await Promise.all(leased.map((one) => store.record(one, { ...emptyPush, lines: one.lines })));
    },
    async pushBadly() {
      const leased = await leaseAll(codes);
      const deadLetter = (code: string) =>
        ({ kind: 'order', key: code, orderCode: code, reason: '', payload: {} }) as const;
      const record = (one: (typeof leased)[number]) =>
        store.record(one, { ...emptyPush, lines: one.lines, deadLetters: [deadLetter(one.orderCode)] });
      await Promise.all(leased.map(record));
    },
    removeOrders: async () => Promise.all((await leaseAll(codes.slice(0, 5))).map((one) => store.forget(one))),
    takeNew: () => leaseAll(['quite', 'new']),
    settle: () => settleGone(db, few),
    makeDue: () => makeDue(db, few),
    setAbsent: () => setAbsent(db, few, true),
    alike: () => isOfAnother(db, 'O7', 7),
    learn: () => learnProducts(warehouse, [{ product_code: 'quite new', product_id: 30_000 }]),
    land: () => landPage(warehouse, page),
    landOne: () => landPage(warehouse, pageOf([review(7)])),
    compare: async () => [
      await comparePage(warehouse, page),
      await compareOne(warehouse, Buffer.from(JSON.stringify(review(7)))),
    ],
    fail: () => putDeadLetters(db, [{ kind: 'review', key: '7', reason: '', payload: {} }]),
    resolve: () => resolveDeadLetters(db, 'review', ['7']),
    comments: () => commentsDue(db, 100),
    changed: async () => [await noteChanged(db, [1, 2], [3]), await takeChangedReview(db)],
    suspects: () => suspects(db, 100),
    absent: () => absentIn(db, { start: Date.UTC(2024, 3) / 1000, end: Date.UTC(2024, 3, 2) / 1000 }, new Set()),
    enter: () => {
      const found = { pages: 1, reviews: 1, requests: 1, absent: [3, 4] };
      return enterSpan(db, {
        ...found,
        runId: '',
        axis: 'created',
        span: { start: 0, end: 10 },
        startedAt: new Date(),
      });
    },
    delete: () => markDeleted(db, [5, 6], new Date()),
  };
  const much: Record<string, unknown> = {};
  for (const [name, step] of Object.entries(steps)) {
    const read = await readsMuch(step, 3000);
    if (Object.keys(read).length > 0) much[name] = read;
  }
  expect(much).toEqual({});
  await recount(db);
  await landPage(warehouse, pageOf([8, 9, 10].map(review)));
  // A month has 1,488 reviews.
  expect(await readsMuch(() => recount(db), 1000)).toEqual({});
});

test('the pages of a first run do not keep the plan of an empty table', async () => {
  const landPages = async () => {
    for (let page = 0; page < 60; page += 1)
      await landPage(warehouse, pageOf(many.slice(0, 100).map((n) => review(page * 100 + n + 1))));
  };
  expect(await readsMuch(landPages, 30_000)).toEqual({});
});

test('the pushed orders are counted once for many orders with removals', async () => {
  await warehouse.pool.query(filled);
  const store = openOrderStore(warehouse, { leaseMs: 60_000 });
  const removals = { ...allowance, removals: allowance.perDay + 1 };
  expect(await readsMuch(() => Promise.all(many.map(() => store.takeRemovals(removals))), size)).toEqual({});
});

test('orders with an old id of their grade are found without reading all of the grade', async () => {
  const { db, pool } = warehouse;
  await pool.query(filled);
  await pool.query(`update sync.order_links set user_grade_code = 'gold', user_grade_id = order_id % 100 / 99 + 1`);
  await pool.query(
    `insert into sync.user_grade_links (user_grade_code, user_grade_id, fingerprint) values ('gold', 1, ''); analyze`,
  );
  const page = { before: new Date().toISOString(), isAnyTime: false, after: '', limit: 1000 };
  const due: string[] = [];
  expect(await readsMuch(async () => void due.push(...(await dueOrders(db, page))), 3000)).toEqual({});
  expect(due).toHaveLength(size / 100);
});
