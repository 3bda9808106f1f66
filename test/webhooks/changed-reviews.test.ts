import { beforeEach, expect, test } from 'vitest';
import {
  finishChangedReview,
  inboxState,
  isInboxFull,
  noteBrands,
  noteChanged,
  takeChangedReview,
} from '../../src/warehouse/changed-reviews.ts';
import { openDeadLetters } from '../../src/warehouse/dead-letters.ts';
import type { Warehouse } from '../../src/warehouse/index.ts';
import { acceptWebhook, storeEvents } from '../../src/webhooks/accept-webhook.ts';
import { readEvents } from '../../src/webhooks/event.ts';
import { valuesOf } from '../harness/database.ts';
import { openTestWarehouse } from '../harness/warehouse.ts';

let db: Warehouse['db'];
let ask: Awaited<ReturnType<typeof openTestWarehouse>>['ask'];
beforeEach(async () => {
  ({ db, ask } = await openTestWarehouse());
});

const take = async () => {
  const taken = await takeChangedReview(db);
  if (!taken) throw new Error('expected a review that is due');
  return taken;
};

test('an event that comes while the review is being read makes it due again', async () => {
  await noteChanged(db, [1, 1], []);
  const first = await take();
  expect(first).toMatchObject({ events: 1 });
  expect(await takeChangedReview(db)).toBeUndefined();
  await noteChanged(db, [1], []);
  await finishChangedReview(db, first);
  const again = await take();
  expect(again).toMatchObject({ events: 2, attempts: 1 });
  await finishChangedReview(db, again);
  expect(await ask('select from sync.changed_reviews')).toEqual([]);
});

test('a review that was not read is due again after twice the time each time', async () => {
  await noteChanged(db, [1], []);
  expect(await inboxState(db)).toMatchObject({ waiting: 1, dueSince: expect.any(Date) });
  const minutes: unknown[] = [];
  for (const attempts of [1, 2, 3, 9]) {
    await ask('update sync.changed_reviews set attempts = $1, due_at = now()', [attempts - 1]);
    expect(await take()).toMatchObject({ attempts });
    expect(await takeChangedReview(db)).toBeUndefined();
    // No process is to blame for the wait.
    expect(await inboxState(db)).toMatchObject({ waiting: 1, dueSince: null });
    const wait = 'select round(extract(epoch from due_at - now()) / 60)::integer as minutes from sync.changed_reviews';
    minutes.push(...valuesOf(await ask(wait)));
  }
  expect(minutes).toEqual([2, 4, 8, 512]);
});

test('50,000 reviews may wait, and the one that is due longest comes first', async () => {
  await ask(`insert into sync.changed_reviews (review_id, due_at, received_at)
    select n, now() - n * interval '1 second', timestamptz '2026-01-01' + n * interval '1 second'
    from generate_series(1, 49999) n`);
  expect(await isInboxFull(db)).toBe(false);
  await noteChanged(db, [50_000], []);
  expect(await isInboxFull(db)).toBe(true);
  const [waiting, oldestAt] = [50_000, new Date('2026-01-01T00:00:01Z')];
  expect(await inboxState(db)).toMatchObject({ waiting, oldestAt });
  expect(await take()).toMatchObject({ id: 49_999 });
  const later = `select review_id::integer as id from sync.changed_reviews where due_at > now() + interval '1 minute'`;
  expect(await ask(later)).toEqual([{ id: 49_999 }]);
  // The last webhook is the newest one, also of a brand that was named before.
  await ask(`update sync.settings set webhook_brands = jsonb_build_object('1', now() - interval '6 days')`);
  await noteBrands(db, [1]);
  expect((await inboxState(db)).lastReceivedAt?.getTime()).toBeGreaterThan(Date.now() - 3_600_000);
});

test('of a product that changed only the newest review that the service has is read', async () => {
  await ask(`
    insert into warehouse.reviews (id, product_id, created_at, updated_at, deleted_at) values
      (1, 7, '2026-01-01', now(), null), (2, 7, '2026-01-02', now(), null), (3, 7, '2026-01-03', now(), now()),
      (4, 8, '2026-01-04', now(), null), (5, null, '2026-01-05', now(), null)`);
  await noteChanged(db, [], [7, 100]);
  expect(await take()).toMatchObject({ id: 2 });
  expect(await takeChangedReview(db)).toBeUndefined();
});

test('a summary of a second brand is not believed either where it comes by itself', async () => {
  const store = (brand_id: number) => {
    const body = [{ brand_id, products: [{ id: 7, reviews_count: brand_id, score: 4 }] }];
    return storeEvents({ db, brandIds: [] }, readEvents(body), new Date());
  };
  expect(await store(1)).toMatchObject({ faults: [] });
  expect(await store(2)).toMatchObject({ faults: [{ reason: expect.stringContaining('several brands') }] });
  expect(await ask('select reviews_count as n from warehouse.product_ratings')).toEqual([{ n: 1 }]);
});

test('an earlier summary undoes no later one; one without a code keeps the code', async () => {
  for (const [reviews_count, receivedAt, code] of [
    [5, '2026-03-02T00:00:00Z', 'P7'],
    [4, '2026-03-01T00:00:00Z'],
    [6, '2026-03-02T00:00:00Z'],
    [7, '2026-03-03T00:00:00Z'],
  ] as const) {
    const meta = { meta_reviews_count: reviews_count, meta_score: reviews_count };
    const body = [{ brand_id: 1, products: [{ id: 7, code, reviews_count, score: reviews_count / 2, ...meta }] }];
    await storeEvents({ db, brandIds: [] }, readEvents(body), new Date(receivedAt));
    const stored = await ask(`select product_code as code,
      array[reviews_count, score * 2, meta_reviews_count, meta_score]::integer[] as counts from warehouse.product_ratings`);
    expect(stored).toEqual([{ code: 'P7', counts: Array(4).fill(Math.max(5, reviews_count)) }]);
  }
});

test('events of a brand that cannot be served now come again, without a dead letter', async () => {
  const accepted: number[][] = [];
  const onStored = (objects: readonly unknown[]) =>
    void accepted.push(objects.flatMap((one) => (one as { brand_id?: number } | undefined)?.brand_id ?? []));
  const receivers = [{ brand: 'a', db, brandIds: [1], onStored }];
  const statusOf = async (ids: (number | undefined)[], unserved: number[] | 'any' = [2], served = receivers) => {
    const body = ids.map((brand_id) => ({ brand_id, reviews: [{ id: 4711 }] }));
    return (await acceptWebhook(served, unserved === 'any' ? undefined : unserved, body)).status;
  };
  expect([await statusOf([1]), await statusOf([2]), await statusOf([1, 2])]).toEqual([200, 503, 503]);
  // A file of a brand that claims the brand_id of another one stops none of its webhooks.
  expect(await statusOf([1], [1])).toBe(200);
  expect(await statusOf([1], [2], [])).toBe(503);
  // While a file cannot be read, each brand_id that no open brand has may stand in it.
  expect([await statusOf([9, 1], 'any'), await statusOf([1], 'any')]).toEqual([503, 200]);
  expect(accepted.splice(0)).toEqual([[1], [1], [1], [1], [1]]);
  expect(await openDeadLetters(db)).toEqual([]);
  // A part without a brand_id is that of the first brand.
  const other = { brand: 'b', db, brandIds: [3], onStored: () => void accepted.push([]) };
  expect(await statusOf([1, undefined], [], [...receivers, other])).toBe(200);
  expect(accepted).toEqual([[1]]);
  expect(await openDeadLetters(db)).toHaveLength(1);
  // Another brand does not take its part: it has too many events.
  expect(await statusOf([1, ...Array(1001).fill(3)], [], [...receivers, other])).toBe(422);
});

test('the dead letter of an unknown brand_id closes once a brand has it', async () => {
  const body = [1, 9].map((brand_id) => ({ brand_id, reviews: [{ id: brand_id }] }));
  const open: number[] = [];
  for (const brandIds of [[2], [2, 9]]) {
    const brands = Object.entries({ a: [1], b: brandIds });
    const receivers = brands.map(([brand, brandIds]) => ({ brand, brandIds, db, onStored() {} }));
    expect(await acceptWebhook(receivers, [], body)).toEqual({ status: 200 });
    open.push((await openDeadLetters(db)).length);
  }
  expect(open).toEqual([1, 0]);
});
