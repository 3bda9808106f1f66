import { expect } from 'vitest';
import { hourMs, reviewAt, worldTest as test } from '../harness/world.ts';

test('a dry run says windows and requests; --gaps reads only what is lacking', async ({ world }) => {
  // Two a day, from the first moment of March on, and one in the last moment of April.
  const first = Date.parse('2026-03-01T00:00:00+09:00');
  const reviews = Array.from({ length: 200 }, (_, n) => reviewAt(first + (n * 24 * hourMs) / 2 + n));
  await world.seedReviews([...reviews, reviewAt(Date.parse('2026-04-30T23:59:59.999+09:00'))]);
  const held = async () => (await world.warehouse('select from warehouse.reviews')).length;
  expect(await world.json('backfill reviews --dry-run')).toMatchObject({ windows: [{}, {}, {}] });
  const planned = async (...more: string[]) => await world.prints('backfill reviews --dry-run', ...more);
  const some = ['--from', '2026-03-01', '--to', '2026-04-30'];
  const both = /^2 windows, about \d+ requests:\n {2}2026-03-01 … .*\n {2}.* … 2026-04-30\nNo review was stored\.\n$/;
  expect(await planned(...some)).toMatch(both);
  expect(await world.warehouse('select id from sync.export_windows')).toEqual([]);
  await world.cli('backfill reviews', ...some);
  expect(await held()).toBe(2 * 61 + 1);
  await world.cli('backfill reviews --gaps');
  expect(await held()).toBe(201);
  const overlap = await world.warehouse(`
    select a.id from sync.export_windows a join sync.export_windows b on a.id < b.id
      and tstzrange(a.start_at, a.end_at) && tstzrange(b.start_at, b.end_at)`);
  expect(overlap).toEqual([]);
  // An open gap is read, although the ledger lacks nothing.
  const gaps = 'sync.open_gaps (axis, start_at, end_at, kind, reason)';
  await world.warehouse(`insert into ${gaps} values ('created', '2026-03-10', '2026-03-10 06:00', 'failed', '')`);
  expect(await planned('--gaps')).toMatch(/^1 window, .*:\n {2}2026-03-\d\d … 2026-03-\d\d\n/);
  await world.done('backfill-reviews', { gaps: true });
  expect(await world.warehouse('select from sync.open_gaps')).toEqual([]);
  // Without --gaps, days that were read are read again.
  expect(await planned(...some)).toMatch(both);
  await world.warehouse(`delete from sync.export_windows where start_at >= '2026-05-01T00:00:00+09:00'`);
  expect(await planned('--gaps')).toMatch(/^1 window, .*:\n {2}2026-05-01 … 2026-06-09\n/);
});
