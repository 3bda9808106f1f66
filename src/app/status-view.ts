import { counted, formatCount } from '../base/counts.ts';
import { durationText } from '../base/time/duration.ts';
import { oneLine } from '../base/visible.ts';
import type { FieldDrift } from '../warehouse/field-shapes.ts';
import type { GapKind } from '../warehouse/reviews/coverage.ts';
import { isAlwaysShown } from '../warehouse/reviews/review-columns.ts';
import type { Run } from '../warehouse/runs/runs.ts';
import type { MonthCoverage, RunInProgress, StatusReport } from './status-report.ts';

/** A table of the status, as text. `status` draws it for a terminal, the page as HTML. */
export type StatusTable = { title: string; head: readonly string[]; rows: readonly (readonly string[])[] };

/** `yyyy-mm-dd hh:mm:ss` in UTC. */
export const utc = (date: Date) => date.toISOString().slice(0, 19).replace('T', ' ');

/** Everything that `status` and the page show as tables. Times are in UTC. */
export function statusTables(report: StatusReport) {
  return {
    flows: {
      title: 'Flows',
      head: ['Flow', 'Newest change read', 'Behind by'],
      rows: report.flows.map(({ flow, watermark, lagSeconds }) => [
        flow,
        watermark === null ? 'nothing yet' : utc(new Date(watermark)),
        lagSeconds === null ? '' : durationText(lagSeconds),
      ]),
    },
    coverage: {
      title: 'Coverage',
      head: ['Month', 'Days read', 'Reviews'],
      rows: brief(report.coverage).map(({ month, days, readDays, holes, reviews }) => [
        month,
        `${readDays}/${days}${holes > 0 ? '  ← incomplete' : ''}`,
        formatCount(reviews),
      ]),
    },
    openGaps: {
      title: 'Open gaps',
      head: ['Reviews', 'Spans', 'From', 'To', 'Since', 'Attempts', 'Why'],
      rows: openGapRows(report.openGaps),
    },
    deadLetters: {
      title: 'Dead letters',
      head: ['Kind', 'Records', 'Since', 'Reason'],
      rows: report.deadLetters.map((group) => [
        group.kind,
        formatCount(group.count),
        utc(group.firstFailedAt),
        group.reason,
      ]),
    },
    runs: {
      title: 'Last runs',
      head: ['Run', 'Started', 'Took', 'Rate', 'Outcome', 'Result'],
      rows: report.runs.map((run) => runRow(run, report.at)),
    },
    queue: {
      title: `Queue (${report.queue.kind})`,
      head: ['Jobs', 'Active', 'Waiting', 'Waiting for steps', 'Delayed', 'Failed'],
      rows: Object.entries(report.queue.jobs).map(([name, counts]) => [
        name,
        ...jobStates.map((state) => formatCount(counts[state] ?? 0)),
      ]),
    },
    schedules: {
      title: 'Next runs',
      head: ['Run', 'At', 'Pattern', 'Zone'],
      rows: report.scheduled.map((one) => [one.job, one.next ? utc(one.next) : '', one.pattern, one.timeZone]),
    },
  };
}

/** The states of jobs as BullMQ names them, in the order of the columns. */
const jobStates = ['active', 'waiting', 'waiting-children', 'delayed', 'failed'];

const runRow = (run: Run, now: Date): string[] => [
  run.job,
  utc(run.startedAt),
  run.finishedAt ? durationText(durationSeconds(run) ?? 0) : '',
  runRate(run),
  run.outcome ?? 'running',
  run.error ?? waitText(run, now) ?? countsText(run.counts),
];

/** One row for all gaps of an axis that are open for the same reason, those that have been open longest first. */
function openGapRows(gaps: StatusReport['openGaps']): string[][] {
  const oldestFirst = gaps.toSorted((a, b) => a.firstSeenAt.getTime() - b.firstSeenAt.getTime());
  const alike = Map.groupBy(oldestFirst, ({ axis, kind }) => `${axis} ${kind}`);
  return [...alike.values()].flatMap((same) => {
    const [oldest] = same;
    if (!oldest) return [];
    const second = (at: number) => utc(new Date(at * 1000));
    return [
      [
        oldest.axis,
        formatCount(same.length),
        second(same.reduce((first, { span }) => Math.min(first, span.start), oldest.span.start)),
        second(same.reduce((last, { span }) => Math.max(last, span.end), oldest.span.end)),
        utc(oldest.firstSeenAt),
        formatCount(same.reduce((most, { attempts }) => Math.max(most, attempts), 0)),
        gapReasons[oldest.kind],
      ],
    ];
  });
}

const gapReasons: Readonly<Record<GapKind, string>> = {
  'too-many': 'more reviews than the service can show',
  unproven: 'the list changed at each reading, or shows less than the service has',
  refused: 'the service refuses the request (4xx)',
  failed: 'the service fails on the request (5xx or no usable response), or a step of a run failed',
};

/** What the process that carries a run out waits for; undefined if it does not wait. */
export function waitText({ waitReason, waitUntil, finishedAt }: Run, now: Date): string | undefined {
  if (waitReason === null || waitUntil === null || finishedAt || waitUntil <= now) return undefined;
  return `waits until ${utc(waitUntil).slice(11)}: ${waitReason}`;
}

/** `12 of 30 steps; 4,321 reviews, 85 per second; about 2 min left`. */
export function progressText({ run, steps, unknown, isAttended, reviews }: RunInProgress, now: Date): string {
  const plansInBatches = run.job.endsWith('orders');
  const seconds = Math.max(0, (now.getTime() - run.startedAt.getTime()) / 1000);
  const { planned, ended = 0 } = steps ?? {};
  const parts = [`For ${durationText(seconds)}`];
  const wait = waitText(run, now);
  if (wait !== undefined) parts.push(wait);
  if (unknown !== undefined) parts.push(`how far it is, is not known: ${unknown}`);
  else if (planned === undefined) parts.push(isAttended ? 'it is being planned' : 'it waits for a worker');
  else parts.push(`${formatCount(ended)} of ${formatCount(planned)} steps${plansInBatches ? ' planned so far' : ''}`);
  if (reviews > 0 && seconds > 0) {
    const rate = reviews / seconds;
    const perSecond = rate < 10 ? rate.toFixed(1) : formatCount(Math.round(rate));
    parts.push(`${counted(reviews, 'review')}, ${perSecond} per second`);
  }
  if (planned !== undefined) {
    if (!isAttended) parts.push('it waits for a worker');
    else if (plansInBatches) parts.push('time left not known: it plans in batches');
    else if (ended === 0) parts.push('time left not known: no step has ended yet');
    else parts.push(`about ${durationText((seconds / ended) * Math.max(0, planned - ended))} left`);
  }
  return `${parts.join('; ')}.`;
}

const changes: Readonly<Record<FieldDrift['change'], (what: string, one: FieldDrift) => string>> = {
  new: (what, { exampleType }) => `the service shows ${what} (${exampleType}), which it did not`,
  gone: (what, { record, field }) =>
    `${what} is missing from all records${record === 'review' && isAlwaysShown(field) ? '; its column keeps the last values' : ''}`,
  null: (what) => `${what} is null, which it never was`,
  type: (what, { exampleType }) => `${what} has another type: ${exampleType}`,
  value: (what) => `${what} has a value that was not seen before`,
};

const recordNames: Readonly<Record<FieldDrift['record'], string>> = {
  review: 'a review',
  review_detail: 'a review that is read by its id',
  order: 'an order',
  sub_order: 'a sub-order',
  event: 'an event',
};

/** `since 2026-11-24 10:00:00 UTC likes_count of a review is missing from all records …`. The service may have gone back. */
export function driftText(one: FieldDrift): string {
  const field = one.field === '…' ? 'a field of an unusual name, or one of more than 500,' : oneLine(one.field);
  const said = changes[one.change](`${field} of ${recordNames[one.record]}`, one);
  const last = one.change === 'gone' ? '' : `, the last at ${utc(one.lastSeenAt)}`;
  return `since ${utc(one.firstSeenAt)} UTC ${said} (${counted(one.records, 'record')}${last})`;
}

/** Undefined if no order line waits for its product. */
export function waitingText({ waiting: { lines, orders, oldest }, at }: StatusReport): string | undefined {
  if (!oldest) return undefined;
  const record = oneLine(`${oldest.orderCode}/${oldest.lineCode}, product ${oldest.productCode}`);
  return (
    `${counted(lines, 'order line')} of ${counted(orders, 'order')} wait until the service is known to have the product; ` +
    `the oldest (${record}) for ${durationText((at.getTime() - oldest.since.getTime()) / 1000)}`
  );
}

/** Facts that need no table, a sentence each. */
export function statusNotes(report: StatusReport): string[] {
  const { suspectedGone, webhooks, alertWaitingDays } = report;
  const waiting = waitingText(report);
  const notes = report.systems
    ? []
    : ['Shop or service is not configured here: queue, schedules and holds are not shown.'];
  if (waiting) notes.push(`${waiting}. No failure for ${counted(alertWaitingDays, 'day')} (ALERT_WAITING_DAYS).`);
  if (suspectedGone > 0) {
    notes.push(
      `${counted(suspectedGone, 'review was', 'reviews were')} not found by a reconcile; the next one asks the service for each.`,
    );
  }
  const { waiting: unapplied, oldestAt, lastReceivedAt } = webhooks;
  if (lastReceivedAt) {
    const rest =
      unapplied === 0 ? 'all are applied' : `${formatCount(unapplied)} waiting since ${oldestAt ? utc(oldestAt) : ''}`;
    notes.push(`Webhooks: the last one came ${utc(lastReceivedAt)}, ${rest}.`);
  }
  return notes;
}

/** Months of the last year, and earlier ones with reviews that were not read completely; all others are one row. */
export function brief(coverage: StatusReport['coverage']): StatusReport['coverage'] {
  const recent = coverage.slice(-12);
  const isShown = (month: MonthCoverage) => recent.includes(month) || (month.reviews > 0 && month.holes > 0);
  const others = coverage.filter((month) => !isShown(month));
  const sum = (field: 'days' | 'readDays' | 'holes' | 'reviews') =>
    others.reduce((all, month) => all + month[field], 0);
  const rest = {
    month: 'earlier',
    days: sum('days'),
    readDays: sum('readDays'),
    holes: sum('holes'),
    reviews: sum('reviews'),
    firstHole: null,
  };
  return [...(others.length > 0 ? [rest] : []), ...coverage.filter(isShown)];
}

const durationSeconds = ({ startedAt, finishedAt }: Run) =>
  finishedAt ? (finishedAt.getTime() - startedAt.getTime()) / 1000 : undefined;

/** Reviews or orders per second of a run that ended. */
function runRate(run: Run): string {
  const seconds = durationSeconds(run);
  const [kind, n = 0] = Object.entries(run.counts).find(([name]) => ['reviews', 'orders'].includes(name)) ?? [];
  return kind && n > 0 && seconds ? `${formatCount(Math.round(n / seconds))} ${kind}/s` : '';
}

/** `1,200 reviews, 1 request`; kinds with 0 are left out. */
export const countsText = (counts: Readonly<Record<string, number>>): string =>
  Object.entries(counts)
    .filter(([, n]) => n > 0)
    .map(([kind, n]) => `${formatCount(n)} ${nounOf(kind, n)}`)
    .join(', ');

const plurals = /\b(order|line|categor|user grade|review|window|span|request|removal|record)(s|ies)\b/;

/** `sub_orders_added`: `sub-orders added`, of one: `sub-order added`. */
function nounOf(kind: string, n: number): string {
  const noun = kind.replace('sub_orders', 'sub-orders').replaceAll('_', ' ');
  return n === 1 ? noun.replace(plurals, (_, stem: string, end: string) => stem + (end === 'ies' ? 'y' : '')) : noun;
}
