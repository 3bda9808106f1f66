import fc from 'fast-check';
import { expect, test } from 'vitest';
import { scanList } from '../../src/review-api/scan-list.ts';
import { openWarehouse } from '../../src/warehouse/index.ts';
import { plainFields } from '../../src/warehouse/plain-reviews.ts';
import { landPage, nothingComplete } from '../../src/warehouse/reviews.ts';
import { createDatabase } from '../harness/database.ts';

const text = fc.oneof(
  fc.string({ unit: 'grapheme' }),
  fc.constantFrom('좋아요 👍', ' "\\/\b\f\n\r\t', '\u2028', '{"a" : 1}', 'null', '1e3', ''),
);
const whole = fc.oneof(fc.nat(30_000), fc.nat(30_000).map(String));
const truth = fc.constantFrom(true, false, 'true', 'f');
const json = fc.oneof(fc.jsonValue({ maxDepth: 3 }), fc.constantFrom('x', null, [], {}, 1e30, 0.1));
const all = (names: readonly string[], value: fc.Arbitrary<unknown>) => names.map((name) => [name, value] as const);
/** By the type of the column. */
const fitting = [
  ...all(['code', 'user_code', 'user_name', 'message', 'product_code', 'source'], text),
  ...all(['review_type', 'order_code', 'sub_order_code', 'store_name', 'third_party_name', 'tag_name'], text),
  ...all(['user_id', 'score', 'product_id', 'images_count', 'comments_count', 'sub_brand_id'], whole),
  ...all(['display', 'store_order'], truth),
  ...all(['product_options', 'images', 'videos', 'options', 'video_urls'], json),
];
/** Of another type, of which some are plain all the same. */
const odd = fc.constantFrom(-1, 1.5, 1e21, 0, { a: 1 }, [1, 2], true, null, 'abc', 32_768, '\u0000', '\ud83d');
const field = fc.oneof(
  { weight: 60, arbitrary: fc.oneof(...fitting.map(([name, value]) => fc.tuple(fc.constant(name), value))) },
  { weight: 2, arbitrary: fc.tuple(fc.constantFrom(...fitting.map(([name]) => name)), odd) },
  { weight: 1, arbitrary: fc.tuple(fc.constant('brand_new'), json) },
);
const dates = { created_at: '2026-03-01T09:00:00.123456+09:00', updated_at: '2026-03-02T00:00:00Z' };
const page = fc
  .array(fc.array(field, { maxLength: 12 }), { minLength: 1, maxLength: 4 })
  .map((records) => records.map((fields, index) => ({ id: index + 1, ...Object.fromEntries(fields), ...dates })));

test('a plain page lands by json as it does by jsonb: neither finds anything to change in the other’s rows', async () => {
  const warehouse = await openWarehouse({ url: await createDatabase('migrated'), connections: 1 });
  const seen = { plain: 0, whole: 0, other: 0 };
  try {
    await fc.assert(
      fc.asyncProperty(page, fc.boolean(), async (records, isJsonFirst) => {
        const rawBody = Buffer.from(JSON.stringify(records));
        if (!scanList(rawBody, { fields: [], plain: plainFields })?.isPlain) {
          seen.other += 1;
          return;
        }
        await warehouse.pool.query('delete from warehouse.reviews');
        const land = (isPlain: boolean) =>
          landPage(warehouse, { rawBody, count: records.length, isPlain }, nothingComplete);
        const first = await land(isJsonFirst);
        expect(await land(!isJsonFirst)).toEqual({ ...first, inserted: 0, unchanged: records.length - first.refused });
        seen.plain += 1;
        seen.whole += first.refused === 0 ? 1 : 0;
      }),
      { numRuns: 400 },
    );
    for (const count of Object.values(seen)) expect(count).toBeGreaterThan(50);
  } finally {
    await warehouse.close();
  }
});
