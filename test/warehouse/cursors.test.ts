import { expect, test } from 'vitest';
import { advanceCursor, type Cursor, readCursor } from '../../src/warehouse/runs/cursors.ts';
import { newestEnded } from '../../src/warehouse/runs/runs.ts';
import { openWorld } from '../harness/world.ts';

test('of two runs that end in either order, the cursor keeps the further place and the later look', async () => {
  await using world = await openWorld({ shop: 'empty' });
  const { db } = (await world.openApp()).warehouse;
  const early: Cursor = { at: '2026-01-01 00:00:00.000001+00', readTo: '2026-01-01T00:05:00.000Z' };
  const late: Cursor = { at: '2026-01-01 00:00:00.000002+00', readTo: '2026-01-01T00:01:00.000Z' };
  const both = { ...late, readTo: early.readTo };
  await advanceCursor(db, 'orders', early);
  await advanceCursor(db, 'orders', late);
  expect(await readCursor(db, 'orders')).toEqual(both);
  await advanceCursor(db, 'orders', early);
  expect(await readCursor(db, 'orders')).toEqual(both);
});

test('a cursor that a clock has put hours ahead does not outlive the correction of the clock', async () => {
  await using world = await openWorld({ shop: 'empty' });
  const { db } = (await world.openApp()).warehouse;
  const iso = (hours: number) => new Date(Date.now() + hours * 3_600_000).toISOString();
  const right = { at: iso(-1), readTo: iso(-1) };
  for (const cursor of [{ at: iso(8), readTo: iso(9) }, right]) await advanceCursor(db, 'reviews', cursor);
  expect(await readCursor(db, 'reviews')).toEqual(right);
});

test('a run that began while a clock was ahead, or that was stopped, is not the newest one of its job', async () => {
  await using world = await openWorld({ shop: 'empty' });
  const { db } = (await world.openApp()).warehouse;
  await world.warehouse(`
    insert into sync.runs (id, job, started_by, started_at, finished_at, outcome) values
      ('ahead', 'sync-reviews', 'schedule', now() + interval '300 days', now(), 'failed'),
      ('right', 'sync-reviews', 'schedule', now() - interval '1 hour', now(), 'done'),
      ('stopped', 'sync-reviews', 'command', now(), now(), 'abandoned'),
      ('open', 'sync-reviews', 'command', now(), null, null)`);
  expect(await newestEnded(db)).toMatchObject([{ id: 'right' }]);
});
