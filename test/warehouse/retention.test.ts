import { expect, test } from 'vitest';
import { openWarehouse } from '../../src/warehouse/index.ts';
import { deleteOutdated, pruneHistory } from '../../src/warehouse/runs/retention.ts';
import { createDatabase, query } from '../harness/database.ts';

test('what is kept for some days goes a second after them, and not before', async () => {
  const url = await createDatabase('migrated');
  const warehouse = await openWarehouse({ url, connections: 1 });
  const now = new Date('2026-07-01T00:00:00Z');
  // Of each kind one row that is a second too young, and one that is a second too old.
  await query(
    url,
    `with row (name, days, seconds) as (
       select name, days, seconds from (values ('90', 90), ('7', 7), ('1', 1)) as kept (name, days),
         (values (-1), (1)) as beside (seconds)
     ), dated as (
       select *, case when seconds > 0 then 'old' else 'young' end as age, row_number() over () as id,
         timestamptz '2026-07-01' - make_interval(days => days, secs => seconds) as at
       from row
     ), runs as (
       insert into sync.runs (id, job, trigger, started_at, finished_at, outcome, error)
       select age, 'sync-reviews', 'command', at, at, 'failed', 'an error' from dated where days = 90
       union all select 'newest', 'sync-reviews', 'command', '2026-06-30', '2026-06-30', 'done', null
       union all select 'the only one', 'backfill-reviews', 'command', '2025-01-01', '2025-01-01', 'failed', 'an error'
     ), letters as (
       insert into sync.dead_letters (kind, key, reason, payload, resolved_at)
       select 'order', age, 'a reason', jsonb '{}', at from dated where days = 90
       union all select 'order', 'open', 'a reason', jsonb '{}', null
     ), brands as (
       insert into sync.webhook_brands (brand_id, last_received_at) select id, at from dated where days = 7
     )
     insert into sync.leases (key, owner, expires_at) select age, 'a', at from dated where days = 1`,
  );
  await deleteOutdated(warehouse.db, now);
  await pruneHistory(warehouse.db, now, 30);
  expect(await query(url, 'select id, error from sync.runs order by id')).toEqual([
    { id: 'newest', error: null },
    { id: 'the only one', error: null },
    { id: 'young', error: 'an error' },
  ]);
  expect(await query(url, 'select key from sync.dead_letters order by key')).toEqual([
    { key: 'open' },
    { key: 'young' },
  ]);
  expect(await query(url, 'select from sync.webhook_brands')).toHaveLength(1);
  expect(await query(url, 'select key from sync.leases')).toEqual([{ key: 'young' }]);
  await warehouse.close();
});
