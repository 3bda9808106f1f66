import { beforeEach, expect, test } from 'vitest';
import { coverageOf } from '../../src/app/status-report.ts';
import { recountAll } from '../../src/warehouse/bi/recount.ts';
import { coverageByDay } from '../../src/warehouse/reviews/coverage.ts';
import { valuesOf } from '../harness/database.ts';
import { openTestWarehouse } from '../harness/warehouse.ts';

const { ask, warehouse } = await openTestWarehouse();
beforeEach(async () => {
  await ask('truncate warehouse.reviews, warehouse.review_overview, sync.export_windows, sync.open_gaps');
  await ask(`update sync.settings set time_zone = 'Asia/Seoul', reviews_cursor = null`);
});

/** The days that were not read completely, and those that `status` counts. */
async function holesOf(): Promise<[shown: unknown[], counted: unknown[]]> {
  const shown = valuesOf(await ask('select day::text from bi.coverage_by_day where not is_complete order by day'));
  const counted = (await coverageByDay(warehouse.db)).filter(({ isHole }) => isHole);
  return [shown, counted.map(({ day }) => day)];
}

/** Spans that were read. */
const read = (...spans: readonly (readonly [axis: string, start: string, end: string])[]) =>
  ask(
    `insert into sync.export_windows (run_id, axis, start_at, end_at, pages, reviews, requests, started_at, finished_at)
     select 'a', one ->> 0, (one ->> 1)::timestamptz, (one ->> 2)::timestamptz, 1, 1, 1, now(), now()
     from jsonb_array_elements($1) one`,
    [JSON.stringify(spans)],
  );

/** In New York the clocks go forward on 8 March 2026. */
test.each([
  ['Asia/Seoul', '2026-03-07T15:00:00Z', '2026-03-08'],
  ['America/New_York', '2026-03-08T05:00:00Z', '2026-03-08'],
  ['America/New_York', '2026-03-09T03:59:59Z', '2026-03-08'],
  ['UTC', '2026-03-08T12:00:00Z', '2026-03-08'],
])('in %s a hole at %s, of a second or half a day, is one of that day alone', async (timeZone, at, day) => {
  await ask(`insert into warehouse.review_overview (captured_at, first_review_created_at, last_review_created_at)
     values ('2026-03-20', '2026-03-01T12:00:00Z', '2026-03-15T12:00:00Z')`);
  await ask('update sync.settings set time_zone = $1', [timeZone]);
  const seconds = Date.parse(at) % 86_400_000 === 43_200_000 ? 43_200 : 1;
  for (const hole of [0, seconds]) {
    const expected = hole > 0 ? [day] : [];
    await ask('truncate sync.export_windows');
    const end = new Date(Date.parse(at) + hole * 1000).toISOString();
    await read(['created', '2026-03-01T12:00:00Z', at], ['created', end, '2026-03-15T12:00:01Z']);
    expect((await holesOf())[0]).toEqual(expected);
    const [month] = coverageOf(await coverageByDay(warehouse.db)).coverage;
    expect(month).toMatchObject({ firstHole: expected[0] ?? null, readDays: (month?.days ?? 0) - expected.length });
  }
});

test.each([
  ['before it was followed', '2026-03-14', '2026-03-10T23:00:00Z', ['2026-03-14']],
  ['that left a newer one unread', '2026-03-16', '2026-03-13', ['2026-03-11', '2026-03-12', '2026-03-13']],
  ['after it was followed', '2026-03-16', '2026-03-10T23:00:00Z', []],
])(
  'days between the last reading and updates count as an overview says: %s',
  async (_, capturedAt, lastReviewAt, holes) => {
    await ask(
      `insert into warehouse.review_overview (captured_at, first_review_created_at, last_review_created_at)
       values ($1, '2026-03-01', $2), ('2026-03-20', '2026-03-01', '2026-03-18')`,
      [capturedAt, lastReviewAt],
    );
    await read(['created', '2026-03-01Z', '2026-03-11Z'], ['updated', '2026-03-15Z', '2026-03-20Z']);
    // Up to the last run, which may be long ago: the overview can be newer.
    for (const [readTo, later] of [
      ['2026-03-18T00:00:01Z', []],
      ['2026-03-17T00:00:01Z', ['2026-03-17', '2026-03-18']],
    ] as const) {
      const cursor = JSON.stringify({ at: '2026-03-16T00:00:00Z', readTo });
      await ask(`update sync.settings set time_zone = 'UTC', reviews_cursor = $1`, [cursor]);
      expect(await holesOf()).toEqual([[...holes, ...later], holes]);
      if (later.length > 0) continue;
      // Since then the service's lists fail. The last review is of the last second of them.
      for (const axis of ['created', 'updated']) {
        await ask(`insert into sync.open_gaps (axis, start_at, end_at, kind, reason)
          values ('${axis}', '2026-03-16T12:00:00Z', '${readTo}', 'failed', '')`);
        const unread = [...holes, '2026-03-16', '2026-03-17'];
        expect(await holesOf()).toEqual([[...unread, '2026-03-18'], unread]);
        await ask('truncate sync.open_gaps');
      }
    }
  },
);

test('a day without reviews is incomplete once its list cannot be read', async () => {
  await ask(`insert into warehouse.review_overview values ('2026-03-20', '2026-03-01', '2026-03-10T23:00:00Z'),
    ('2026-03-21', '2026-03-01', '2026-03-20T12:00:00Z')`);
  await ask(`update sync.settings set time_zone = 'UTC'`);
  await read(['created', '2026-03-01Z', '2026-03-11Z'], ['created', '2026-03-20Z', '2026-03-21Z']);
  expect((await holesOf())[0]).toEqual([]);
  // A review appeared there later than its date, and the list with it fails.
  await ask(`insert into sync.open_gaps (axis, start_at, end_at, kind, reason)
    values ('created', '2026-03-15T12:00:00Z', '2026-03-15T12:00:01Z', 'failed', '')`);
  expect((await holesOf())[0]).toEqual(['2026-03-15']);
});

/** A moment so many days and hours after the beginning of today. */
const at = (days: number, hours: number) =>
  new Date(Math.floor(Date.now() / 86_400_000 + days) * 86_400_000 + hours * 3_600_000);
const dayAt = (days: number) => at(days, 0).toISOString().slice(0, 10);

type Overview = [capturedAt: Date, last: Date];
const older: Overview[] = [[at(0, 0.2), at(-3, 5)]];
const both: Overview[] = [
  [at(-1, 10), at(-1, 9)],
  [at(0, 0.3), at(0, 0.2)],
];

test.each<[situation: string, readTo: Date, overviews: Overview[], holes: string[]]>([
  ['of today, after a run that read the newest review', at(0, 0.2), [[at(0, 0.2), at(0, 0.1)]], []],
  ['of today, when an overview names a review after the last run', at(0, 0.1), [[at(0, 0.3), at(0, 0.2)]], [dayAt(0)]],
  ['of the day on which the worker died', at(-1, 10), [[at(-1, 10), at(-1, 9)]], [dayAt(-1)]],
  ['of that day and of today, when verify has taken an overview since', at(-1, 10), both, [dayAt(-1), dayAt(0)]],
  ['of the day of the last review, which was days before the run', at(0, 0.2), older, []],
  ['of days whose updates nobody has read, before the last review', at(-9, 0), older, [dayAt(-4), dayAt(-3)]],
])('a day is complete once read to its end, today up to the newest review: %s', async (_, readTo, overviews, holes) => {
  for (const [capturedAt, last] of overviews)
    await ask('insert into warehouse.review_overview values ($1, $2, $3)', [capturedAt, at(-4, 12), last]);
  const cursor = JSON.stringify({ at: at(-20, 0), readTo });
  await ask(`update sync.settings set time_zone = 'UTC', reviews_cursor = $1`, [cursor]);
  expect(await holesOf()).toEqual([holes, []]);
});

test('the months of the coverage have counts, and end where dates are not plausible', async () => {
  await ask(`insert into warehouse.review_overview values (now(), '0001-01-01T00:00:00Z', '9999-12-31T00:00:00Z')`);
  await ask(`insert into warehouse.reviews (id, created_at, updated_at) values (1, '2024-02-03T00:00:00Z', now()),
    (2, '2024-02-04T00:00:00Z', now()), (3, '9999-01-01T00:00:00Z', now())`);
  await recountAll(warehouse.db);
  const { coverage: months, coverageDays: lastDays } = coverageOf(await coverageByDay(warehouse.db));
  expect([lastDays[0]?.day.slice(8), lastDays.length > 334, lastDays.length < 367]).toEqual(['01', true, true]);
  expect(months[0]).toMatchObject({ month: '2000-01', days: 31 });
  expect(months.length).toBeLessThan(12 * 200);
  expect(months.filter(({ reviews }) => reviews > 0)).toMatchObject([{ month: '2024-02', reviews: 2 }]);
  expect(months.at(-1)?.month).toBe(new Date(Date.now() + 33 * 3_600_000).toISOString().slice(0, 7));
});
