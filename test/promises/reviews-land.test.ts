import { createHash } from 'node:crypto';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { comparePage } from '../../src/warehouse/compare-reviews.ts';
import { openWarehouse, type Warehouse } from '../../src/warehouse/index.ts';
import { itemsOf, type LedgerEntry, landPage } from '../../src/warehouse/reviews.ts';
import { createDatabase, query } from '../harness/database.ts';

let url: string;
let warehouse: Warehouse;
beforeEach(async () => {
  url = await createDatabase('migrated');
  warehouse = await openWarehouse({ url, connections: 2 });
});
afterEach(() => warehouse.close());

const review = (id: unknown, more: object = {}) => ({
  ...{ id, message: 'fine', score: 5, product_id: 1, product_code: 'P1' },
  ...{ created_at: '2026-03-01T09:00:00.123+09:00', updated_at: '2026-03-02T09:00:00.456+09:00' },
  ...more,
});
const entry: LedgerEntry = {
  ...{ runId: 'test', axis: 'created', complete: undefined, startedAt: new Date() },
  ...{ pages: 1, reviews: 1, requests: 1 },
};
const land = (page: readonly unknown[]) =>
  landPage(
    warehouse,
    { rawBody: Buffer.from(JSON.stringify(page)), count: page.length },
    {
      ...{ runId: 'test', axis: 'created', complete: undefined, startedAt: new Date() },
      ...{ pages: 1, reviews: page.length, requests: 1 },
    },
  );
const stored = (columns: string) => query(url, `select ${columns} from warehouse.reviews order by id`);
const openLetters = () => query(url, 'select key from sync.dead_letters where resolved_at is null order by key');

test('of a page with bad records all others land, and the bad ones are kept whole until they are mended', async () => {
  const good = Array.from({ length: 97 }, (_, index) => review(index + 10));
  const bad = [review(1, { score: 'abc' }), review(2, { message: 'a\u0000b' }), review(null)];
  expect(await land([...bad, ...good])).toMatchObject({ inserted: 97, updated: 0, unchanged: 0, refused: 3 });
  expect(await openLetters()).toEqual([{ key: '1' }, { key: '2' }, { key: expect.stringMatching(/^sha256:/) }]);
  expect(await query(url, `select payload ->> 'score' as score from sync.dead_letters where key = '1'`)).toEqual([
    { score: 'abc' },
  ]);
  await land([review(1), review(2), ...good]);
  expect(await openLetters()).toHaveLength(1);
  expect(await stored('id')).toHaveLength(99);
});

const incompressible = Array.from({ length: 150 }, (_, n) => createHash('sha512').update(`${n}`).digest('base64')).join(
  '',
);

test.each([
  ['half a surrogate pair', JSON.stringify(review(1, { user_name: '\ud83d' }))],
  [
    'a product code too long for its index',
    JSON.stringify(
      review(1, {
        product_code: incompressible,
      }),
    ),
  ],
  [
    'what is nested too deep',
    `${JSON.stringify(review(1)).slice(0, -1)},"deep":${'['.repeat(20_000)}${']'.repeat(20_000)}}`,
  ],
  ['an id that is no key', JSON.stringify(review('a\u0000b'))],
  ['no object', 'null'],
])('a record that Postgres cannot hold for %s leaves the others alone, and their numbers exact', async (_, bad) => {
  const good = `${JSON.stringify(review(2)).slice(0, -1)},"partner_ref":12345678901234567890123}`;
  const page = { rawBody: Buffer.from(`[${bad},${good}]`), count: 2 };
  expect(await landPage(warehouse, page, entry)).toMatchObject({ inserted: 1, refused: 1 });
  expect(await openLetters()).toHaveLength(1);
  expect(await stored(`id::integer, extra ->> 'partner_ref' as ref`)).toEqual([
    { id: 2, ref: '12345678901234567890123' },
  ]);
});

test('an older version never overwrites a newer one, and an unchanged row is not rewritten', async () => {
  await land([review(1, { message: 'newer' })]);
  const [before] = await stored('xmin::text as version');
  const older = review(1, { message: 'older', updated_at: '2026-03-01T12:00:00+09:00' });
  expect(await land([older])).toMatchObject({ updated: 0, unchanged: 1 });
  expect(await land([review(1, { message: 'newer' })])).toMatchObject({ updated: 0, unchanged: 1 });
  expect(await stored('message, xmin::text as version')).toEqual([{ message: 'newer', ...before }]);
});

test('a field that the spec does not know is kept, and no rating stays no rating', async () => {
  await land([review(1, { score: null, mood: { weather: 'fair' } })]);
  expect(await stored('score, extra')).toEqual([{ score: null, extra: { mood: { weather: 'fair' } } }]);
});

test('true and false as 1 and 0 are no difference once they have landed', async () => {
  const page = (display: unknown) => [review(1, { display, store_order: 0 })];
  const compared = (display: unknown) =>
    comparePage(warehouse, { rawBody: Buffer.from(JSON.stringify(page(display))), count: 1 });
  await land(page(1));
  expect(await compared(1)).toEqual([]);
  expect(await compared(0)).toMatchObject([{ kind: 'stale', fields: ['display'] }]);
});

test('a page is taken apart as it came', () => {
  const items = ['{"a":[1,{"b":"]},["}],"c":"\\\\"}', '12345678901234567890123', '"\\",["', 'null', '[]', '{}'];
  expect(itemsOf(` [ ${items.join(' , ')} ] `)).toEqual(items);
  expect(itemsOf('[]')).toEqual([]);
});
