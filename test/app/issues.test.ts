import { beforeAll, expect, test } from 'vitest';
import { issuesOf } from '../../src/app/issues.ts';
import { openMetrics } from '../../src/app/metrics.ts';
import { type StatusReport, statusReport } from '../../src/app/status-report.ts';
import { brief, statusTables } from '../../src/app/status-view.ts';
import { openWorld } from '../harness/world.ts';

/** The report of a warehouse in which all is well. */
let calm: StatusReport;
beforeAll(async () => {
  await using world = await openWorld({ shop: 'empty' });
  calm = await statusReport(await world.openApp());
  calm.flows = (['orders', 'reviews'] as const).map((flow) => ({
    flow,
    watermark: calm.at.toISOString(),
    lagSeconds: 0,
  }));
});

const day = 86_400_000;
const ago = (ms: number) => new Date(calm.at.getTime() - ms);

const lag = (lagSeconds: number) => ({ flows: [{ flow: 'orders' as const, watermark: '2026-01-01', lagSeconds }] });
const deadLetters = (count: number): Partial<StatusReport> => ({
  deadLetters: [{ kind: 'order', reason: 'bad', count, ids: [1], firstFailedAt: ago(day), lastFailedAt: ago(0) }],
});
const gap = (kind: StatusReport['openGaps'][number]['kind'], attempts: number): Partial<StatusReport> => ({
  openGaps: [
    {
      axis: 'created',
      span: { start: 0, end: 1 } as StatusReport['openGaps'][number]['span'],
      kind,
      reason: 'unread',
      attempts,
      firstSeenAt: ago(day),
      lastTriedAt: ago(0),
    },
  ],
});
const waits = (ms: number): Partial<StatusReport> => ({
  waiting: {
    lines: 1,
    orders: 1,
    products: 1,
    oldest: { orderCode: 'A', lineCode: '1', productCode: 'P', since: ago(ms) },
  },
});
const inbox = (ms: number): Partial<StatusReport> => ({
  webhooks: { waiting: 1, oldestAt: ago(ms), lastReceivedAt: ago(ms), lastError: null },
});
const brought = (days: (number | null)[]) => ({ daily: [{ flow: 'orders' as const, days }] });
const ended = (job: string, ms: number, run: Partial<StatusReport['newest'][number]>): Partial<StatusReport> => ({
  newest: [
    {
      ...{ id: '1', job, key: null, trigger: 'command', startedAt: ago(ms), finishedAt: ago(ms), counts: {} },
      ...{ outcome: 'failed', reason: null, error: 'broken' },
      ...run,
    },
  ],
});
const hole = (readDays: number): Partial<StatusReport> => ({
  coverage: [{ month: '2026-01', days: 31, readDays, reviews: 9, firstHole: '2026-01-07' }],
});
const running = (job: string): Partial<StatusReport> => ({
  runs: ended(job, 0, { outcome: null, finishedAt: null }).newest ?? [],
});

/** `calm` counts as a shop whose schedules are set for reviews only. */
const scheduled = { job: 'sync-reviews', pattern: '', timeZone: 'UTC', next: undefined };

test.for<[string, () => Partial<StatusReport>, string | undefined]>([
  ['nothing', () => ({}), undefined],
  ['a lag of an hour', () => lag(3600), undefined],
  ['a lag of an hour and a second', () => lag(3601), 'lag orders, urgent'],
  ['nine dead letters', () => deadLetters(9), 'dead letters'],
  ['ten dead letters', () => deadLetters(10), 'dead letters, urgent'],
  ['a line that waits for a second less than 14 days', () => waits(14 * day - 1000), undefined],
  ['a line that waits for 14 days', () => waits(14 * day), 'waiting lines, urgent'],
  ['a webhook that waits for a second less than five minutes', () => inbox(299_000), undefined],
  ['a webhook that waits for five minutes', () => inbox(300_000), 'webhooks'],
  ['a day without orders where nine are usual', () => brought([0, ...Array(7).fill(9)]), undefined],
  ['a day without orders where ten are usual', () => brought([0, ...Array(7).fill(10)]), 'quiet orders, urgent'],
  [
    'a day without orders where nine are usual and some days have many',
    () => brought([0, 3, 5, 8, 9, 30, 50, 80]),
    undefined,
  ],
  ['a day without orders after six known days', () => brought([0, null, ...Array(6).fill(10)]), undefined],
  ['a day with one order where ten are usual', () => brought([1, ...Array(7).fill(10)]), undefined],
  ['a day without a run', () => brought([null, ...Array(7).fill(10)]), undefined],
  ['a failed run of a schedule', () => ended('sync-reviews', 30 * day, {}), 'failed sync-reviews, urgent'],
  ['a failed command of a week ago', () => ended('backfill-orders', 7 * day, {}), 'failed backfill-orders, urgent'],
  ['a failed command of more than a week ago', () => ended('backfill-orders', 7 * day + 1, {}), undefined],
  ['a run that is done', () => ended('sync-reviews', 0, { outcome: 'done' }), undefined],
  [
    'an incomplete run',
    () => ended('sync-reviews', 0, { outcome: 'incomplete', reason: 'problem' }),
    'failed sync-reviews, urgent',
  ],
  [
    'a run that left dead letters, which are an issue of their own',
    () => ended('sync-reviews', 0, { outcome: 'incomplete', reason: 'dead-letters' }),
    undefined,
  ],
  ['a span that the service refuses', () => gap('refused', 1), 'open gaps, urgent'],
  ['a span that failed three times', () => gap('failed', 3), 'open gaps'],
  ['a span that failed four times', () => gap('failed', 4), 'open gaps, urgent'],
  ['a month whose days are all read', () => hole(31), undefined],
  ['a month with an unread day', () => hole(30), 'gaps, urgent'],
  ['an unread day during a backfill', () => ({ ...hole(30), ...running('backfill-reviews') }), 'gaps'],
  ['an unread day during a run of orders', () => ({ ...hole(30), ...running('sync-orders') }), 'gaps, urgent'],
])('%s', ([, part, issue]) => {
  const report: StatusReport = { ...calm, scheduled: [scheduled], ...part() };
  const found = issuesOf(report);
  expect(found.map(({ key, isUrgent }) => (isUrgent ? `${key}, urgent` : key))).toEqual(issue ? [issue] : []);
  for (const { what, hint } of found) expect([what, hint]).not.toContain('');
});

test.each([
  ['off', 'they stay at the service'],
  ['send', 'a rescan deletes them'],
] as const)('with ORDER_DELETES=%s it is said of orders that left the shop that %s', (orderDeletes, hint) => {
  const absentOrders = { ...calm.absentOrders, orders: 1, examples: ['A'] };
  expect(issuesOf({ ...calm, scheduled: [scheduled], absentOrders, orderDeletes })).toMatchObject([
    { key: 'absent orders', hint: expect.stringMatching(`^${hint}`) },
  ]);
});

test('steps wait whatever their priority', () => {
  const jobs = { steps: { active: 8, waiting: 1, prioritized: 2000 } };
  const { rows } = statusTables({ ...calm, queue: { kind: 'postgres', jobs } }).queue;
  expect(rows).toEqual([['steps', '8', '2,001', '0', '0', '0']]);
});

test('each gauge has the value of the report', async () => {
  const report: StatusReport = {
    ...calm,
    ...lag(61),
    ...deadLetters(2),
    ...hole(27),
    ...inbox(0),
    ...ended('sync-orders', calm.at.getTime() - 7000, {}),
    queue: { kind: 'postgres', jobs: { steps: { waiting: 5 } } },
  };
  let shown = report;
  const metrics = openMetrics(async () => shown);
  const values = async () => {
    const text = await metrics.render();
    const names = [...text.matchAll(/^# TYPE review_sync_(\w+) gauge$/gm)].map(([, name = '']) => name);
    const line = (name: string) => new RegExp(`^review_sync_(${name}\\b.*)$`, 'm').exec(text)?.[1];
    return Object.fromEntries(names.map((name) => [name, line(name)?.slice(name.length)]));
  };
  expect(await values()).toEqual({
    lag_seconds: '{flow="orders"} 61',
    dead_letters: '{kind="order"} 2',
    queue_up: ' 1',
    queue_jobs: '{queue="steps",state="waiting"} 5',
    coverage_missing_days: ' 4',
    webhooks_waiting: ' 1',
    last_run_timestamp_seconds: '{job="sync-orders",outcome="failed"} 7',
  });
  // What is over is not shown with its last value.
  shown = { ...calm, flows: [], queue: { kind: 'postgres', jobs: {}, error: 'down' } };
  expect(await values()).toEqual({
    ...{
      lag_seconds: undefined,
      dead_letters: undefined,
      queue_jobs: undefined,
      last_run_timestamp_seconds: undefined,
    },
    ...{ queue_up: ' 0', coverage_missing_days: ' 0', webhooks_waiting: ' 0' },
  });
});

test('a request counts once by its route, and its latency in seconds', async () => {
  const metrics = openMetrics(async () => calm);
  metrics.onRequestEnd({ method: 'GET', path: '/v1/reviews/7', status: 200, durationMs: 250 });
  metrics.onRequestEnd({ method: 'GET', path: '/v1/reviews/8', status: undefined, durationMs: 500 });
  const text = await metrics.render();
  expect(text).toContain('review_sync_requests_total{method="GET",route="/v1/reviews/:id",status="none"} 1');
  expect(text).toContain('review_sync_request_duration_seconds_sum{method="GET",route="/v1/reviews/:id"} 0.75');
});

test('of the coverage the last year and earlier months with holes are a row each, all others are one', () => {
  const months = Array.from({ length: 36 }, (_, n) => {
    const month = `${2024 + Math.floor(n / 12)}-${String((n % 12) + 1).padStart(2, '0')}`;
    const readDays = month === '2024-05' || month === '2024-06' ? 29 : 30;
    return { month, days: 30, readDays, reviews: month === '2024-06' ? 0 : 2, firstHole: null };
  });
  const rows = brief(months);
  expect(rows.map(({ month }) => month).slice(0, 3)).toEqual(['earlier', '2024-05', '2026-01']);
  expect(rows[0]).toMatchObject({ days: 690, readDays: 689, reviews: 44 });
  expect(rows).toHaveLength(14);
});
