import { expect, test } from 'vitest';
import { advanceCursor, type Cursor, readCursor } from '../../src/warehouse/runs/cursors.ts';
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
