import { beforeAll, expect, test } from 'vitest';
import { issuesOf } from '../../src/app/alert-rules.ts';
import { openMetrics } from '../../src/app/metrics.ts';
import { flowOf, type StatusReport, statusReport } from '../../src/app/status-report.ts';
import { countsText, statusTables } from '../../src/app/status-view.ts';
import { openWorld, runOf } from '../harness/world.ts';

/** The report of a warehouse in which all is well. */
let calm: StatusReport;
beforeAll(async () => {
  await using world = await openWorld();
  calm = await statusReport(await world.openApp());
  calm.flows = (['orders', 'reviews'] as const).map((name) => flow(name, { watermark: calm.at.toISOString() }));
});

const flow = (name: 'orders' | 'reviews', more: Partial<StatusReport['flows'][number]> = {}) => {
  return { flow: name, watermark: '2026-01-01', lagSeconds: 0, isScheduled: true, overdueSeconds: null, ...more };
};
const day = 86_400_000;
const ago = (ms: number) => new Date(calm.at.getTime() - ms);

const unscheduled = (lagSeconds: number) => ({ flows: [flow('orders', { lagSeconds, isScheduled: false })] });
const late = (overdueSeconds: number | null) => ({ flows: [flow('orders', { lagSeconds: 90_000, overdueSeconds })] });
const deadLetters = (count: number): Partial<StatusReport> => {
  const group = { kind: 'order' as const, reason: 'bad', ids: [1], records: ['order A'] };
  return { deadLetters: [{ ...group, count, firstFailedAt: ago(day), lastFailedAt: ago(0) }] };
};
type Gap = StatusReport['openGaps'][number];
const gap = (kind: Gap['kind'], attempts: number): Partial<StatusReport> => {
  const of = { axis: 'created' as const, span: { start: 0, end: 1 } as Gap['span'], reason: 'unread' };
  return { openGaps: [{ ...of, kind, attempts, firstSeenAt: ago(day), lastTriedAt: ago(0) }] };
};
const waits = (ms: number): Partial<StatusReport> => ({
  waiting: { lines: 1, orders: 1, oldest: { orderCode: 'A', lineCode: '1', productCode: 'P', since: ago(ms) } },
});
const session = (state: Partial<StatusReport['session']>) => ({ session: { ...calm.session, ...state } });
const inbox = (ms: number): Partial<StatusReport> => ({
  webhooks: { waiting: 1, oldestAt: ago(ms), dueSince: ago(ms), lastReceivedAt: ago(ms) },
});
const brought = (days: (number | null)[]) => ({ daily: [{ flow: 'orders' as const, days }] });
const ended = (job: string, ms: number, more: Partial<StatusReport['newest'][number]>): Partial<StatusReport> => {
  const run = runOf(job, { startedBy: 'command', startedAt: ago(ms), finishedAt: ago(ms) });
  return { newest: [{ ...run, outcome: 'failed', reason: null, error: 'broken', ...more }] };
};
const hole = (readDays: number): Partial<StatusReport> => ({
  coverage: [{ month: '2026-01', days: 31, readDays, holes: 31 - readDays, reviews: 9, firstHole: '2026-01-07' }],
});
const open = { outcome: null, finishedAt: null };
const done = { outcome: 'done' as const };
const neverRun = (isScheduled: boolean) => ({
  flows: [flow('reviews', { watermark: null, lagSeconds: null, isScheduled })],
});
const incomplete = (reason: 'problem' | 'dead-letters') => ended('sync-reviews', 0, { outcome: 'incomplete', reason });
const [urgent, failed] = ['lag orders, urgent', 'failed sync-reviews, urgent'];

test.for<[string, () => Partial<StatusReport>, string | undefined]>([
  ['nothing', () => ({}), undefined],
  ['a run that is not due yet, or has no schedule', () => late(null), undefined],
  ['a run that is overdue by an hour', () => late(3600), undefined],
  ['a run that is overdue by an hour and a second', () => late(3601), urgent],
  ['one of which an alert is wanted later', () => ({ ...late(3601), alertLagMinutes: 120 }), undefined],
  ['a flow without a schedule, a day and an hour after its last run', () => unscheduled(90_000), undefined],
  ['a flow without a schedule, a second later', () => unscheduled(90_001), urgent],
  ['one of which an alert is wanted sooner', () => ({ ...late(301), alertLagMinutes: 5 }), urgent],
  ['a flow that never ran', () => neverRun(true), 'never reviews'],
  ['a flow without a schedule that never ran', () => neverRun(false), undefined],
  [
    'a flow without a watermark after a run',
    () => ({ ...neverRun(true), ...ended('sync-reviews', 0, done) }),
    undefined,
  ],
  ['requests that the service holds', () => session({ heldUntil: ago(-60_000), heldReason: 'a ban' }), 'held'],
  ['a token that was revoked four times in an hour', () => session({ refusedInHour: 4 }), undefined],
  ['a token that was revoked five times in an hour', () => session({ refusedInHour: 5 }), 'token refused'],
  ['nine dead letters', () => deadLetters(9), 'dead letters'],
  ['ten dead letters', () => deadLetters(10), 'dead letters, urgent'],
  ['a line that waits for a second less than 14 days', () => waits(14 * day - 1000), undefined],
  ['a line that waits for 14 days', () => waits(14 * day), 'waiting lines, urgent'],
  ['a webhook that waits for a second less than five minutes', () => inbox(299_000), undefined],
  ['a webhook that waits for five minutes', () => inbox(300_000), 'webhooks'],
  ['a day without orders where nine are usual', () => brought([0, ...Array(7).fill(9)]), undefined],
  ['a day without orders where ten are usual', () => brought([0, ...Array(7).fill(10)]), 'quiet orders, urgent'],
  ['a day without orders where some days have many', () => brought([0, 3, 5, 8, 9, 30, 50, 80]), undefined],
  ['a day without orders after six known days', () => brought([0, null, ...Array(6).fill(10)]), undefined],
  ['a day with one order where ten are usual', () => brought([1, ...Array(7).fill(10)]), undefined],
  ['a day without a run', () => brought([null, ...Array(7).fill(10)]), undefined],
  ['a failed run of a schedule', () => ended('sync-reviews', 30 * day, { startedBy: 'schedule' }), failed],
  ['a failed command of a week ago', () => ended('backfill-orders', 7 * day, {}), 'failed backfill-orders, urgent'],
  ['a failed command of more than a week ago', () => ended('backfill-orders', 7 * day + 1, {}), undefined],
  ['a run that is done', () => ended('sync-reviews', 0, { outcome: 'done' }), undefined],
  ['an incomplete run', () => incomplete('problem'), failed],
  ['a run that left dead letters, which are an issue of their own', () => incomplete('dead-letters'), undefined],
  ['a span that the service refuses', () => gap('refused', 1), 'open gaps, urgent'],
  [
    'a span with too many reviews behind one that failed once',
    () => ({ openGaps: [...(gap('failed', 1).openGaps ?? []), ...(gap('too-many', 1).openGaps ?? [])] }),
    'open gaps, urgent',
  ],
  ['a span that failed three times', () => gap('failed', 3), 'open gaps'],
  ['a span that was not proven three times', () => gap('unproven', 3), 'open gaps'],
  ['a span that failed four times', () => gap('failed', 4), 'open gaps, urgent'],
  ['a month whose days are all read', () => hole(31), undefined],
  ['a month with an unread day', () => hole(30), 'gaps'],
  ['an unread day beside a gap', () => ({ ...hole(30), ...gap('failed', 4) }), 'gaps; open gaps, urgent'],
])('%s', ([, part, issue]) => {
  const report: StatusReport = { ...calm, ...part() };
  const found = issuesOf(report);
  expect(found.map(({ key, isUrgent }) => (isUrgent ? `${key}, urgent` : key)).join('; ')).toBe(issue ?? '');
  for (const { what, hint } of found) expect([what, hint]).not.toContain('');
});

test.for([
  ['every five minutes', '*/5 * * * *', '10:05:00', null],
  ['every five minutes, an hour later', '*/5 * * * *', '11:05:00', 3600],
  ['hourly, an hour later', '0 * * * *', '11:00:00', null],
  ['hourly', '0 * * * *', '12:00:01', 3601],
  ['daily at half past four in Seoul', '30 4 * * *', '19:30:00', null],
  ['daily, half an hour late', '30 4 * * *', '20:00:00', 1800],
  ['without a schedule', '', '23:00:00', null],
] as const)('a run is overdue from the moment at which its schedule names the next: %s', ([, pattern, at, overdue]) => {
  const cursor = { at: '2026-01-01T09:59:00Z', readTo: '2026-01-01T10:00:03.500Z' };
  const now = new Date(`2026-01-01T${at}Z`);
  const schedules = { orders: pattern, reviews: '' };
  expect(flowOf('orders', cursor, { schedules, scheduleTimeZone: 'Asia/Seoul' }, now)).toMatchObject({
    lagSeconds: Math.round((now.getTime() - Date.UTC(2026, 0, 1, 10, 0, 3, 500)) / 1000),
    isScheduled: pattern !== '',
    overdueSeconds: overdue,
  });
});

const troubled = (): StatusReport => ({
  ...calm,
  flows: [
    flow('orders', { watermark: '2026-01-02T03:04:05Z', lagSeconds: 7205, overdueSeconds: 7200 }),
    ...neverRun(true).flows,
  ],
  newest: [
    ...(ended('rescan-orders', 0, {}).newest ?? []),
    ...(ended('sync-catalog', 0, { outcome: 'incomplete', reason: 'problem', error: 'odd' }).newest ?? []),
  ],
  ...brought([0, ...Array(7).fill(1200)]),
  coverage: [
    { month: '2026-01', days: 31, readDays: 30, holes: 1, reviews: 1200, firstHole: '2026-01-07' },
    { month: '2026-02', days: 28, readDays: 27, holes: 1, reviews: 0, firstHole: '2026-02-01' },
  ],
  openGaps: [...(gap('too-many', 2).openGaps ?? []), ...(gap('failed', 3).openGaps ?? [])],
  ...deadLetters(1),
  ...waits(15 * day),
  waitingForGrades: { orders: 1, grades: 2 },
  absentOrders: { ...calm.absentOrders, orders: 6, examples: ['A', 'B', 'C', 'D', 'E'] },
  webhooks: { waiting: 2, oldestAt: ago(3_600_000), dueSince: ago(3_600_000), lastReceivedAt: new Date(1000) },
  queue: { kind: 'redis', error: 'down', hint: 'start its server' },
});
const waiting =
  '1 order line of 1 order wait until the service is known to have the product; the oldest (A/1, product P) for 15 d';

test('each issue says what is wrong, the most important first', () => {
  expect(issuesOf(troubled()).map(({ key, what }) => `${key}: ${what}`)).toEqual([
    'queue: the queue cannot be read: down',
    'never reviews: reviews were never synced',
    'failed rescan-orders: the last rescan-orders failed: broken',
    'failed sync-catalog: the last sync-catalog was incomplete: odd',
    'lag orders: orders are 2 h 5 s behind',
    'quiet orders: no orders came in the last 24 hours; usually 1,200 a day come',
    'gaps: 2 days of reviews were not read completely, first 2026-01-07',
    'open gaps: unread (and 1 more span)',
    'dead letters: 1 record could not be synced',
    `waiting lines: ${waiting}`,
    expect.stringMatching(
      /^waiting for grades: 1 order has a member grade .* \(2 grades\); each keeps the grade that was sent before/,
    ),
    'absent orders: 6 pushed orders (A, B, C, D, E …) left the shop',
    'webhooks: 2 webhooks waiting for 1 h',
  ]);
  const hintOf = (part: Partial<StatusReport>) => issuesOf({ ...calm, ...part })[0]?.hint;
  expect(hintOf(gap('refused', 1))).toMatch(/^the service refuses these dates/);
  const absentOrders = { ...calm.absentOrders, orders: 1, examples: ['A'] };
  expect(hintOf({ absentOrders, orderDeletes: 'off' })).toMatch(/^they stay at the service/);
  const hint = /^a rescan deletes an order created in the last ORDER_RESCAN_DAYS a day after/;
  expect(hintOf({ absentOrders, orderDeletes: 'send' })).toMatch(hint);
});

test('status shows each figure of the report in its column', () => {
  const [one] = gap('refused', 1).openGaps as StatusReport['openGaps'];
  const openGaps = (['created', 'updated'] as const).map((axis, n) => ({
    ...(one as NonNullable<typeof one>),
    axis,
    attempts: 7 + n,
    span: { start: 60 + n, end: 70 - n } as never,
    firstSeenAt: new Date((3 - n) * 1000),
  }));
  const run = { startedAt: new Date(0), finishedAt: new Date(90_000), error: null };
  const report: StatusReport = {
    ...troubled(),
    openGaps,
    runs: [
      ...(ended('sync-orders', 0, { ...run, ...done, counts: { lines: 9, orders: 1800 } }).newest ?? []),
      ...(ended('sync-reviews', 0, { ...run, ...open }).newest ?? []),
      ...(ended('rescan-orders', 0, { ...run, error: 'broken' }).newest ?? []),
    ],
    scheduled: [{ job: 'sync-reviews', pattern: '* * * * *', timeZone: 'UTC', next: new Date(0) }],
    queue: { kind: 'redis', steps: 1200 },
  };
  const rows = Object.values(statusTables(report)).flatMap((one) => one.rows.map((row) => row.join('|')));
  expect(rows).toEqual([
    'orders|2026-01-02 03:04:05|2 h 5 s',
    'reviews|nothing yet|',
    '2026-01|30/31  ← incomplete|1,200',
    '2026-02|27/28  ← incomplete|0',
    'created|1970-01-01 00:01:00|1970-01-01 00:01:10|1970-01-01 00:00:03|7|the service refuses the request (4xx)',
    'updated|1970-01-01 00:01:01|1970-01-01 00:01:09|1970-01-01 00:00:02|8|the service refuses the request (4xx)',
    '1,200',
    'sync-orders|1970-01-01 00:00:00|1 min 30 s|20 orders/s|done|9 lines, 1,800 orders',
    'sync-reviews|1970-01-01 00:00:00|||running|',
    'rescan-orders|1970-01-01 00:00:00|1 min 30 s||failed|broken',
    expect.stringMatching(/^order\|1\|[-\d]{10} [:\d]{8}\|bad$/),
    'sync-reviews|1970-01-01 00:00:00|* * * * *|UTC',
  ]);
});

test('counts are said with their nouns, in the singular too', () => {
  expect(countsText({ orders: 1200, sub_orders_added: 2, requests: 0 })).toBe('1,200 orders, 2 sub-orders added');
  const one = { orders: 1, categories: 1, user_grades: 1, sub_orders_added: 1, inserted: 1 };
  expect(countsText(one)).toBe('1 order, 1 category, 1 user grade, 1 sub-order added, 1 inserted');
});

test('each gauge has the value of the report', async () => {
  const report: StatusReport = {
    ...calm,
    ...late(null),
    deadLetters: [2, 3].flatMap((count) => deadLetters(count).deadLetters ?? []),
    ...hole(27),
    ...inbox(0),
    ...ended('sync-orders', calm.at.getTime() - 7000, {}),
    queue: { kind: 'postgres', steps: 5 },
  };
  let shown = report;
  const metrics = openMetrics(async () => shown);
  const samples = async () => (await metrics.render()).match(/(?<=^review_sync_).*$/gm);
  expect(await samples()).toEqual([
    'lag_seconds{flow="orders"} 90000',
    'dead_letters{kind="order"} 5',
    'queue_up 1',
    'queue_steps 5',
    'coverage_missing_days 4',
    'webhooks_waiting 1',
    'last_run_timestamp_seconds{job="sync-orders",outcome="failed"} 7',
  ]);
  // A state that is over is not shown with its last value.
  shown = { ...calm, flows: [], queue: { kind: 'postgres', error: 'down' } };
  expect(await samples()).toEqual(['queue_up 0', 'queue_steps 0', 'coverage_missing_days 0', 'webhooks_waiting 0']);
});

test('metrics count each request, by its route, and each step once, timed in seconds', async () => {
  const metrics = openMetrics(async () => calm);
  metrics.onStep('read-window', { reviews: 7, orders: 0 }, 2);
  metrics.onStep('read-window', undefined, 3);
  metrics.onRequestEnd({ method: 'GET', path: '/v1/reviews/7', status: 200, durationMs: 250 });
  metrics.onRequestEnd({ method: 'GET', path: '/v1/reviews/8', status: undefined, durationMs: 500 });
  const text = await metrics.render();
  expect(text).toContain('review_sync_requests_total{method="GET",route="/v1/reviews/:id",status="none"} 1');
  expect(text).toContain('review_sync_request_duration_seconds_sum{method="GET",route="/v1/reviews/:id"} 0.75');
  expect(text.match(/^review_sync_(records|step_duration_seconds_(sum|count)).*$/gm)).toEqual([
    'review_sync_records_total{step="read-window",kind="reviews"} 7',
    'review_sync_step_duration_seconds_sum{step="read-window",outcome="done"} 2',
    'review_sync_step_duration_seconds_count{step="read-window",outcome="done"} 1',
    'review_sync_step_duration_seconds_sum{step="read-window",outcome="failed"} 3',
    'review_sync_step_duration_seconds_count{step="read-window",outcome="failed"} 1',
  ]);
});
