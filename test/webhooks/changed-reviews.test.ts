import { sql } from 'kysely';
import { afterEach, beforeEach, expect, test } from 'vitest';
import {
  finishChangedReview,
  isInboxFull,
  noteChanged,
  postponeChangedReview,
  takeChangedReview,
} from '../../src/warehouse/changed-reviews.ts';
import { openWarehouse, type Warehouse } from '../../src/warehouse/index.ts';
import { createDatabase } from '../harness/database.ts';

let warehouse: Warehouse;
beforeEach(async () => {
  warehouse = await openWarehouse({ url: await createDatabase('migrated'), connections: 1 });
});
afterEach(() => warehouse.close());

const rows = async (columns: string) =>
  (await warehouse.pool.query(`select ${columns} from sync.changed_reviews order by review_id`)).rows;
const at = (minute: number) => new Date(Date.UTC(2026, 0, 1, 0, minute));
const take = async () => {
  const taken = await takeChangedReview(warehouse.db, 300);
  if (!taken) throw new Error('expected a review that is due');
  return taken;
};

test('an event that comes while the review is being read makes it due again', async () => {
  await noteChanged(warehouse.db, [{ id: 1, updatedAt: at(1) }], []);
  const first = await take();
  expect(await takeChangedReview(warehouse.db, 300)).toBeUndefined();
  await noteChanged(warehouse.db, [{ id: 1, updatedAt: at(2) }], []);
  await finishChangedReview(warehouse.db, first);
  await finishChangedReview(warehouse.db, await take());
  expect(await rows('review_id')).toEqual([]);
});

test('of many events the newest date counts; one without a date makes the review be read in any case', async () => {
  const { db } = warehouse;
  await noteChanged(
    db,
    [at(1), at(3), at(2)].map((updatedAt) => ({ id: 1, updatedAt })),
    [],
  );
  await noteChanged(
    db,
    [
      { id: 1, updatedAt: at(2) },
      { id: 2, updatedAt: at(1) },
      { id: 2, updatedAt: undefined },
    ],
    [],
  );
  expect(await rows('review_id::integer as id, updated_at, events')).toEqual([
    { id: 1, updated_at: at(3), events: 2 },
    { id: 2, updated_at: null, events: 1 },
  ]);
});

test('a review of which the warehouse holds the version or a newer one needs no request', async () => {
  await warehouse.pool.query(
    `insert into warehouse.reviews (id, created_at, updated_at, deleted_at)
    select id, $1, $1, case when id = 4 then now() end from generate_series(1, 4) id`,
    [at(2)],
  );
  const versions = [at(2), at(3), undefined, at(1)];
  await noteChanged(
    warehouse.db,
    versions.map((updatedAt, index) => ({ id: index + 1, updatedAt })),
    [],
  );
  const taken = [await take(), await take(), await take(), await take()].sort((a, b) => a.id - b.id);
  // Of review 3 no version is known, and review 4 is marked deleted.
  expect(taken.map(({ isHeld }) => isHeld)).toEqual([true, false, false, false]);
});

test('a review that could not be read waits longer each time', async () => {
  const { db } = warehouse;
  await noteChanged(db, [{ id: 1, updatedAt: undefined }], []);
  const waits: number[] = [];
  for (let attempt = 1; attempt <= 3; attempt += 1) {
    const taken = await take();
    // In one transaction, now() stands still.
    const seconds = await db.transaction().execute(async (trx) => {
      await postponeChangedReview(trx, taken, 'down');
      const wait = sql<{ seconds: number }>`
        update sync.changed_reviews c set due_at = now() from (select due_at from sync.changed_reviews) before
        returning extract(epoch from before.due_at - now())::integer as seconds`;
      return (await wait.execute(trx)).rows[0]?.seconds ?? 0;
    });
    waits.push(seconds);
  }
  expect(waits).toEqual([4, 16, 64]);
  expect(await isInboxFull(db)).toBe(false);
});
