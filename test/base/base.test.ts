import { readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { IncompleteError, ReviewSyncError, UsageError } from '../../src/base/errors.ts';
import { contentKey, storableRecord } from '../../src/base/json-text.ts';
import { openLog } from '../../src/base/log.ts';
import { isTransient } from '../../src/base/lost-connections.ts';
import { makeFolder } from '../../src/base/make-folder.ts';
import { openOutage } from '../../src/base/outage.ts';
import { spanOfDays } from '../../src/base/time/day-range.ts';
import { durationText } from '../../src/base/time/duration.ts';
import { isoOf } from '../../src/base/time/span.ts';
import { temporaryFolder } from '../harness/folder.ts';

const failure = (facts: object) => Object.assign(new Error('no'), facts);
const refused = failure({ code: 'ECONNREFUSED' });
const ofServer = (code: string) => failure({ severity: 'ERROR', code });
const unreachable = (cause?: unknown) => new ReviewSyncError('shop', 'The shop database cannot be reached', { cause });

test.each<[string, boolean, unknown[]]>([
  ['a refused connection, also of a shop that fails over', true, [refused, unreachable(refused)]],
  ...['08006', '40001', '53300', '55P03', '57014', '58030', '57P01', '25P03'].map((code) => transience(code, true)),
  ...['22P02', '23505', '42P01', '28P01'].map((code) => transience(code, false)),
  ['a shop that is reached and at fault', false, [unreachable()]],
  ['any other error of this program', false, [new ReviewSyncError('shop-query', 'wrong column')]],
  ['a list of reviews that the service refuses', false, [new IncompleteError('403')]],
  ['a queue that cannot be reached', false, [new ReviewSyncError('queue', 'gone', { cause: refused })]],
])('%s is transient: %s', (_, expected, errors) => {
  expect(errors.map(isTransient)).toEqual(errors.map(() => expected));
});

/** The same of Postgres, of MySQL and of a shop. */
function transience(code: string, is: boolean): [string, boolean, unknown[]] {
  const error = ofServer(code);
  return [`SQLSTATE ${code}`, is, [error, failure({ sqlState: code, code: 'ER_OTHER' }), unreachable(error)]];
}

test('a duration is shown in its two largest units', () => {
  expect([-5, 0.4, 59.6, 725, 3600, 3661, 86_399, 86_461, 273_600].map(durationText)).toEqual(
    ['0 s', '0 s', '1 min', '12 min 5 s', '1 h', '1 h 1 min', '23 h 59 min', '1 d 1 min', '3 d 4 h'], //
  );
});

test('a range of days goes from midnight to midnight of its zone; no other is taken', () => {
  const second = (text: string) => Date.parse(text) / 1000;
  // The clocks of New York go forward on that day.
  expect(spanOfDays({ from: '2026-03-08', to: '2026-03-08' }, 'America/New_York')).toEqual({
    start: second('2026-03-08T05:00:00Z'),
    end: second('2026-03-09T04:00:00Z'),
  });
  expect(spanOfDays({}, 'UTC')).toEqual({ start: undefined, end: undefined });
  const all = spanOfDays({ from: '0001-01-01', to: '9999-12-31' }, 'America/New_York');
  expect([all.start, all.end].map((at) => isoOf(at ?? 0))).toEqual([
    '0001-01-03T00:00:00.000Z',
    '9999-12-29T23:59:59.000Z',
  ]);
  for (const [range, message, hint] of [
    [{ from: '2026-2-30' }, '--from is "2026-2-30", expected a day such as 2026-01-31', undefined],
    [{ to: 'today' }, '--to is "today", expected a day such as 2026-01-31', undefined],
    [{ from: '2026-03-09', to: '2026-03-08' }, '--from 2026-03-09 is after --to 2026-03-08', 'Swap the two.'],
  ] as const)
    expect(() => spanOfDays(range, 'UTC')).toThrow(new UsageError(message, { hint }));
});

test('a folder is made by several at once, and a file in its place is an error', async () => {
  const above = await temporaryFolder();
  await Promise.all(['a', 'b', 'c'].map((name) => makeFolder(join(above, 'new', name))));
  expect((await readdir(join(above, 'new'))).sort()).toEqual(['a', 'b', 'c']);
  await writeFile(join(above, 'file'), '');
  await expect(makeFolder(join(above, 'file'))).rejects.toThrow('EEXIST');
});

test('an outage is logged at its beginning, each minute and at its end, by one loop', () => {
  vi.useFakeTimers({ toFake: ['performance'] });
  const lines: Record<string, unknown>[] = [];
  const outage = openOutage(
    openLog('info', (line) => void lines.push(JSON.parse(line))),
    'warehouse',
  );
  outage.worked();
  for (let second = 0; second < 130; second += 1) {
    for (const port of [1, 2]) outage.failed(new Error(`ECONNREFUSED 127.0.0.1:${port}`));
    vi.advanceTimersByTime(1000);
    // Work that only reads goes on while the server is read-only.
    outage.worked();
  }
  vi.advanceTimersByTime(9000);
  outage.worked();
  outage.worked();
  outage.failed(new Error('again'));
  expect(lines.map(({ level, system, seconds, msg }) => [level, system, seconds, msg])).toEqual([
    [40, 'warehouse', undefined, 'the warehouse cannot be used; trying again'],
    [40, 'warehouse', 60, 'the warehouse cannot be used; trying again'],
    [40, 'warehouse', 120, 'the warehouse cannot be used; trying again'],
    [30, 'warehouse', 139, 'the warehouse can be used again'],
    [40, 'warehouse', undefined, 'the warehouse cannot be used; trying again'],
  ]);
  expect(lines[0]?.error).toContain('→ start the server, or correct host and port in WAREHOUSE_DATABASE_URL');
});

test('a record without a key gets the same one in whatever order its fields come', () => {
  const key = contentKey([{ brand_id: 1, products: [{ id: 2, name: 'b' }] }]);
  expect(contentKey([{ products: [{ name: 'b', id: 2 }], brand_id: 1 }])).toBe(key);
  expect(contentKey([{ products: [{ name: 'c', id: 2 }], brand_id: 1 }])).not.toBe(key);
});

test('a whole number in any form is stored plainly; other numbers and texts stay as they are', () => {
  const stored = (record: string) => storableRecord(Buffer.from(record), () => {});
  for (const [form, plain] of Object.entries({
    '5.0': 5,
    '3e0': 3,
    '1.50E1': 15,
    '-4.00 ': -4,
    '[1.5, 2.0]': [1.5, 2],
  }))
    expect(stored(`{"a": ${form}}`)).toBe(JSON.stringify({ a: plain }));
  const record = '{"a":5.10,"at":"2026-03-01T00:00:00.000Z","v":"2.0"}';
  expect(stored(record)).toBe(record);
});
