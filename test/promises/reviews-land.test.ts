import { afterEach, beforeEach, expect, test } from 'vitest';
import { openWarehouse, type Warehouse } from '../../src/warehouse/index.ts';
import { landReviews } from '../../src/warehouse/reviews.ts';
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
const land = (page: readonly unknown[]) =>
  warehouse.db.transaction().execute((trx) => landReviews(trx, warehouse.statements, JSON.stringify(page)));
const stored = (columns: string) => query(url, `select ${columns} from warehouse.reviews order by id`);
const openLetters = () => query(url, 'select key from sync.dead_letters where resolved_at is null order by key');

test('of a page with bad records all others land, and the bad ones are kept whole until they are mended', async () => {
  const good = Array.from({ length: 97 }, (_, index) => review(index + 10));
  const bad = [review(1, { score: 'abc' }), review(2, { message: 'a\u0000b' }), review(null)];
  expect(await land([...bad, ...good])).toEqual({ inserted: 97, updated: 0, unchanged: 0, refused: 3 });
  expect(await openLetters()).toEqual([{ key: '1' }, { key: '2' }, { key: expect.stringMatching(/^sha256:/) }]);
  expect(await query(url, `select payload ->> 'score' as score from sync.dead_letters where key = '1'`)).toEqual([
    { score: 'abc' },
  ]);
  await land([review(1), review(2), ...good]);
  expect(await openLetters()).toHaveLength(1);
  expect(await stored('id')).toHaveLength(99);
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
