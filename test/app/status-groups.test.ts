import { expect } from 'vitest';
import { statusReport } from '../../src/app/status-report.ts';
import type { DeadLetterGroup } from '../../src/warehouse/dead-letters.ts';
import { worldTest as test } from '../harness/world.ts';

test('many gaps are ten lines, dead letters alike are one; --json lists all', async ({ world }) => {
  await world.warehouse(`insert into sync.open_gaps (axis, start_at, end_at, kind, reason)
    select 'created', at, at + interval '1 second', 'refused', 'the reviews of ' || at || ' cannot be read'
    from (select now() - n * interval '1 hour' as at from generate_series(1, 301) n) as spans`);
  await world.warehouse(`insert into sync.dead_letters (kind, key, reason, payload)
    select 'review', n::text, 'expected created_at between 2000-01-01 and 2026-11-24, found 19' || 10 + n % 90 || '-05-01T00:00:' || n % 60 || '.000Z', '{}'::jsonb
    from generate_series(1, 300) n
    union all
    select 'review', 'x' || n, 'the service failed (status ' || n || ') on "' || n || '"', '{}'::jsonb from unnest(array[500, 422]) n`);
  await world.warehouse(`insert into sync.runs (id, job, started_by, started_at, finished_at, outcome)
    select 'r' || n, 'backfill-reviews', 'command', date '2026-01-01' + n, now(), 'done' from generate_series(1, 12) n`);
  await world.warehouse(`insert into sync.dead_letters (kind, key, reason, payload, first_failed_at, last_failed_at, resolved_at)
    select 'category', n::text, 'no parent', '{}'::jsonb, date '2026-01-01' + n, date '2026-03-01' + n, case when n = 0 then now() end
    from generate_series(0, 25) n`);
  const { stdout } = await world.cli('status');
  expect(stdout.match(/(?<=^backfill-reviews +)2026\S+/gm)).toEqual(
    Array.from({ length: 10 }, (_, n) => `2026-01-${String(13 - n).padStart(2, '0')}`),
  );
  expect(stdout.match(/^created .*the service refuses/gm)).toHaveLength(10);
  expect(stdout).toMatch(/^… +and 291 more spans$/m);
  const lines = stdout.match(/^review .*$/gm);
  expect(lines).toHaveLength(3);
  expect(lines?.[0]).toMatch(/^review +300 .*expected created_at/);
  expect(await world.prints('dead-letters')).toMatch(/^review +300 +1, 2, 3 … +1 2 3 … +20/m);
  const json = await world.json('status');
  expect(json.openGaps).toHaveLength(301);
  const [categories] = json.deadLetters.filter(({ kind }: DeadLetterGroup) => kind === 'category');
  const dates = { firstFailedAt: '2026-01-02T00:00:00.000Z', lastFailedAt: '2026-03-26T00:00:00.000Z' };
  expect(categories).toMatchObject({ count: 25, ids: { length: 20 }, ...dates });
});

test('a run is carried out while a process says so, and its job is in the queue', async ({ world }) => {
  const app = await world.openApp();
  await world.warehouse(`insert into sync.runs (id, job, started_by, started_at, attended_at) values
    ('begun', 'sync-reviews', 'command', now(), null), ('attended', 'sync-reviews', 'command', now(), now()),
    ('left', 'sync-reviews', 'command', now(), 'epoch'), ('lost', 'sync-reviews', 'command', now(), now())`);
  for (const id of ['begun', 'attended', 'left']) await app.queues.add('sync-reviews', id);
  const { inProgress, leftRuns } = await statusReport(app);
  const attended = inProgress.filter(({ isAttended }) => isAttended).map(({ run }) => run.id);
  expect([inProgress.length, attended, leftRuns.map(({ id }) => id).sort()]).toEqual([
    4,
    ['attended'],
    ['left', 'lost'],
  ]);
});
