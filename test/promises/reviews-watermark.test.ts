import { expect, test } from 'vitest';
import { seedReviews } from '../../src/sandbox/reference-service/seed.ts';
import { runCli } from '../harness/cli.ts';
import { openWorld } from '../harness/world.ts';

const hour = 3_600_000;
const review = (message: string, agoMs: number) => {
  const at = new Date(Date.now() - agoMs);
  return { product_code: 'P', message, created_at: at, updated_at: at };
};

test('the minute before a reading began does not count as covered: a review of then may not be listed yet', async () => {
  await using world = await openWorld({ shop: 'empty' });
  await seedReviews(world.serviceDatabaseUrl, [review('old', 5 * hour), review('just now', 1000)]);
  expect(await runCli(['backfill', 'reviews'], world.environment)).toMatchObject({ status: 0 });
  expect(await world.warehouse('select message from warehouse.reviews order by id')).toHaveLength(2);
  const covered = `select end_at > started_at - interval '60 seconds' as "isTooLate" from sync.export_windows where axis = 'created'`;
  expect(await world.warehouse(covered)).toEqual([{ isTooLate: false }]);

  // Nor does the next run rely on it, however short its overlap is.
  expect(await runCli(['sync', 'reviews'], world.environment)).toMatchObject({ status: 0 });
  const watermark = `select (reviews_cursor ->> 'at')::timestamptz <= (reviews_cursor ->> 'readTo')::timestamptz - interval '1 minute' as "isBehind"
    from sync.settings`;
  expect(await world.warehouse(watermark)).toEqual([{ isBehind: true }]);

  // A review of that minute that a webhook has brought is not suspected gone.
  await world.warehouse('insert into warehouse.reviews (id, created_at, updated_at) values (9, now(), now())');
  expect(await world.run('reconcile-reviews')).toMatchObject({ outcome: 'done', counts: { deleted: 0 } });
});
