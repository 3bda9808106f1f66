import { expect, test } from 'vitest';
import { noteBrands } from '../../src/warehouse/changed-reviews.ts';
import { pruneHistory } from '../../src/warehouse/runs/retention.ts';
import { openTestWarehouse } from '../harness/warehouse.ts';

test('what is kept for some days goes a second after them, and not before', async () => {
  const { ask, warehouse } = await openTestWarehouse();
  const now = new Date('2026-07-01T00:00:00Z');
  // For each kind, one row that is a second too young, and one that is a second too old.
  await ask(`with dated as (
       select age, timestamptz '2026-07-01' - make_interval(days => 90, secs => seconds) as at
       from (values ('young', -1), ('old', 1)) as row (age, seconds)
     ), runs as (
       insert into sync.runs (id, job, started_by, started_at, finished_at, outcome, error)
       select age, 'sync-reviews', 'command', at, at, 'failed', 'an error' from dated
       union all select 'newest', 'sync-reviews', 'command', '2026-06-30', '2026-06-30', 'done', null
       union all select 'the only one', 'backfill-reviews', 'command', '2025-01-01', '2025-01-01', 'failed', 'an error'
       union all select 'under way', 'backfill-reviews', 'command', '2026-06-30', null, null, null
     )
     insert into sync.dead_letters (kind, key, reason, payload, resolved_at, last_failed_at, is_discarded)
     select 'order', age, 'a reason', jsonb '{}', at, at, false from dated
     union all select 'review', age || ', discarded', 'a reason', '{}', '2025-01-01', at, true from dated
     union all select 'order', 'open', 'a reason', '{}', null, '2025-01-01', false`);
  const runs = () => ask('select id, error from sync.runs order by id');
  // A run stays for as long as its spans.
  await pruneHistory(warehouse.db, now, 83);
  expect(await runs()).toContainEqual({ id: 'old', error: null });
  await pruneHistory(warehouse.db, now, 30);
  expect(await runs()).toEqual([
    { id: 'newest', error: null },
    { id: 'the only one', error: null },
    { id: 'under way', error: null },
    { id: 'young', error: 'an error' },
  ]);
  expect(await ask('select key from sync.dead_letters order by key')).toEqual([
    { key: 'open' },
    { key: 'young' },
    { key: 'young, discarded' },
  ]);
});

test('brands are forgotten after seven days, and only the newest 100 are kept', async () => {
  const { ask, warehouse } = await openTestWarehouse();
  await ask(
    `update sync.settings
      set webhook_brands = jsonb_build_object('7', now() - interval '167 hours', '8', now() - interval '169 hours')`,
  );
  expect(await noteBrands(warehouse.db, [9])).toEqual([7, 9]);
  const many = Array.from({ length: 200 }, (_, n) => 1000 + n);
  const kept = await noteBrands(warehouse.db, many);
  expect([kept.length, kept.filter((brand) => brand < 1000)]).toEqual([100, []]);
});
