import { expect } from 'vitest';
import { postIssues } from '../../src/alerts/post-issues.ts';
import { issuesOf } from '../../src/app/alert-rules.ts';
import type { App } from '../../src/app/app.ts';
import { statusReport } from '../../src/app/status-report.ts';
import { openLog } from '../../src/base/log.ts';
import { openFieldShapes, type RecordKind } from '../../src/warehouse/field-shapes.ts';
import { valuesOf } from '../harness/database.ts';
import { type Fields, inLists } from '../harness/proxy.ts';
import { hourlyReviews, openServe, worldTest as test, type World } from '../harness/world.ts';

const driftOf = (world: World) =>
  world.warehouse(
    `select record, field, change, example_type as type, records > 0 as "isSeen" from bi.field_drift order by 1, 2, 3`,
  );

/** A day passes: what comes from then on is a change, and so is what does not. */
const passDay = (world: World) =>
  world.warehouse(`update sync.field_shapes
    set (first_seen_at, last_seen_at) = (first_seen_at - interval '25 hours', last_seen_at - interval '25 hours')`);

/** A process sees so many equal records, and ends. */
async function sees({ warehouse }: App, kind: RecordKind, record: Fields, count = 100): Promise<void> {
  const shapes = openFieldShapes(warehouse, 3_600_000);
  shapes.begin();
  shapes.see(kind, Array(count).fill(record));
  await shapes.close();
}

/** The changes that alerts post, in the order of their names. */
async function alertsOf(app: App): Promise<string[]> {
  const posted: string[] = [];
  const post = async (text: string) => void posted.push(text);
  const deps = { db: app.warehouse.db, log: openLog('silent'), now: app.now, post };
  await postIssues(deps, issuesOf(await statusReport(app)));
  return posted.flatMap((text) => /UTC (.*) \(\d/.exec(text)?.[1] ?? []).sort();
}

test('a field that is new, gone, null or of another type is said once', async ({ world }) => {
  const reviews = hourlyReviews(100).map((one) => ({ ...one, likes_count: 2, source: 'pc' }));
  await world.seedReviews(reviews);
  // On every third review: it comes and goes by record.
  const usual = (one: Fields) => Number(one.id) % 3 === 0 && Object.assign(one, { badge: 'top' });
  let change: (one: Fields) => unknown = usual;
  await world.changing(inLists((one) => change(one)));
  const backfill = async () => {
    await world.warehouse('delete from sync.export_windows');
    await world.ends(0, 'backfill reviews');
  };
  await backfill();
  // A field that comes on the first day is normal for the service.
  change = (one) => {
    usual(one);
    one.weight = 7;
  };
  await backfill();
  expect(await driftOf(world)).toEqual([]);
  await passDay(world);
  const likes = () => world.warehouse('select sum(likes_count)::integer as likes from warehouse.reviews');
  const before = await likes();
  change = (one) => {
    usual(one);
    Object.assign(one, { weight: 7, loyalty_tier: 'gold', product_code: null, source: 'kiosk' });
    if (one.score !== null) one.score = String(one.score);
    delete one.likes_count;
  };
  await backfill();
  const found = [
    ['likes_count', 'gone', 'number'],
    ['loyalty_tier', 'new', 'string'],
    ['product_code', 'null', 'null'],
    ['score', 'type', 'string'],
    ['source', 'value', 'string'],
  ].map(([field, change, type]) => ({ record: 'review', field, change, type, isSeen: true }));
  expect(await driftOf(world)).toEqual(found);
  expect(await likes()).toEqual(before);
  const { stdout } = await world.says('status', 'review-sync migrate --accept-gone likes_count');
  expect(stdout).not.toContain('kiosk');
  await world.says('doctor', /loyalty_tier of a review \(string\), which it did not/);

  for (const field of ['no_such_field', 'message']) await world.ends(2, `migrate --accept-gone ${field}`);
  await world.ends(0, 'migrate --accept-gone likes_count');
  expect(await driftOf(world)).toEqual(found.slice(1));
  await world.warehouse(`update warehouse.reviews set updated_at = updated_at - interval '1 second'`);
  await backfill();
  expect(await likes()).toEqual([{ likes: null }]);
});

test('a field that was null has no new type or value, and each change is posted once', async ({ world }) => {
  const app = await world.openApp();
  const first = { id: 1, size: null, source: null, old_name: 1, product_code: 'P1' };
  await sees(app, 'review', first);
  await passDay(world);
  const usual = { ...first, size: 'M', source: 'pc' };
  // Two processes see it at the same time.
  await Promise.all([sees(app, 'review', usual), sees(app, 'review', usual)]);
  expect(await driftOf(world)).toEqual([]);
  expect(await alertsOf(app)).toEqual([]);
  await passDay(world);

  // A field is renamed, one is nested, one has another type, and there are two new words.
  const { old_name: value, product_code: code, ...rest } = usual;
  const changed = { ...rest, size: 7, new_name: value, product: { code } };
  await Promise.all(['kiosk', 'app'].map((source) => sees(app, 'review', { ...changed, source })));
  const missing = 'of a review is missing from all records';
  expect(await alertsOf(app)).toEqual([
    `old_name ${missing}`,
    `product_code ${missing}; its column keeps the last values`,
    'size of a review has another type: number',
    'source of a review has a value that was not seen before',
    'the service shows new_name of a review (number), which it did not',
    'the service shows product of a review (object), which it did not',
  ]);
  expect(await alertsOf(app)).toEqual([]);
  await sees(app, 'review', { ...changed, source: 'tv' });
  expect(await alertsOf(app)).toEqual(['source of a review has a value that was not seen before']);
  // The service goes back. One of its servers may do so before the others: nothing is gone before an hour has passed.
  for (const gone of [[], [`new_name ${missing}`, `product ${missing}`]]) {
    await sees(app, 'review', usual);
    expect(await alertsOf(app)).toEqual(gone);
    await world.warehouse(`update sync.field_shapes set last_seen_at = last_seen_at - interval '61 minutes'`);
  }
});

test('events, orders and sub-orders are looked at, and thousands of names are one', async () => {
  await using served = await openServe({ WEBHOOK_SECRET: 'a-secret-part-of-the-path' }, { shop: 'sample' });
  const { world, post, stop } = served;
  const app = await world.openApp();
  for (const flow of ['reviews', 'orders']) await world.ends(0, `sync ${flow}`);
  await sees(app, 'event', { brand_id: 1, reviews: [], id: 1 });
  await passDay(world);
  // No field is gone because other events lack it.
  const product = { id: 1, code: 'P', reviews_count: 1, score: 5, trust: 'high' };
  for (let n = 0; n < 60; n += 1) await post([{ brand_id: 1, products: [product] }]);
  await stop();
  expect((await driftOf(world)).filter((one) => ['trust', 'reviews'].includes(String(one.field)))).toEqual([
    { record: 'event', field: 'trust', change: 'new', type: 'string', isSeen: true },
  ]);
  const kinds = `select distinct record from sync.field_shapes where record <> 'event' order by 1`;
  expect(valuesOf(await world.warehouse(kinds))).toEqual(['order', 'review', 'sub_order']);

  await world.warehouse(`delete from sync.field_shapes where record = 'event'`);
  const letters = (n: number) => [...String(n)].map((digit) => 'abcdefghij'[Number(digit)]).join('');
  const names = Object.fromEntries(Array.from({ length: 10_000 }, (_, n) => [`id_${letters(n)}`, 1]));
  // A map may be keyed by what is a customer's own.
  const shapes = openFieldShapes(app.warehouse, 3_600_000);
  shapes.begin();
  shapes.see('event', [{ 'kim@example.com': 1, kim1990: 1, brand_id: 1, ...names }, 'no record', null]);
  await shapes.close();
  const sums = `select count(*)::integer as n, sum(records) filter (where field = '…')::integer as others
    from sync.field_shapes where record = 'event'`;
  expect(await world.warehouse(sums)).toEqual([{ n: 501, others: 9504 }]);
});
