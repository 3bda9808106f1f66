import { counted, formatCount } from '../base/counts.ts';
import { durationText } from '../base/time/duration.ts';
import { oneLine } from '../base/visible.ts';
import type { FieldDrift } from '../warehouse/field-shapes.ts';
import type { GapKind } from '../warehouse/reviews/coverage.ts';
import { isAlwaysShown } from '../warehouse/reviews/review-columns.ts';
import type { Run } from '../warehouse/runs/runs.ts';
import { isOfOrders } from './run-rights.ts';
import type { RunInProgress, StatusReport } from './status-report.ts';

/** A table that `status` draws for a terminal, and the page as HTML. `unknown`: why its rows are unknown. */
export type StatusTable = {
  title: string;
  head: readonly string[];
  rows: readonly (readonly string[])[];
  unknown?: string | undefined;
};

/** `yyyy-mm-dd hh:mm:ss` in UTC. */
export const utc = (date: Date) => date.toISOString().slice(0, 19).replace('T', ' ');

/** Everything that `status` and the page show as tables, in the order of `status`. Times are in UTC. */
export function statusTables(report: StatusReport) {
  const { queue, systems } = report;
  const unread = queue.error === undefined ? undefined : 'not known, the queue cannot be read';
  const unknown = systems ? unread : 'not known, shop or service is not configured here';
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
      title: 'Coverage of the last twelve months',
      head: ['Month', 'Days read', 'Reviews'],
      rows: report.coverage
        .slice(-12)
        .map(({ month, days, readDays, holes, reviews }) => [
          month,
          `${readDays}/${days}${holes > 0 ? '  ← incomplete' : ''}`,
          formatCount(reviews),
        ]),
    },
    openGaps: {
      title: 'Open gaps',
      head: ['Reviews', 'From', 'To', 'Since', 'Attempts', 'Why'],
      rows: openGapRows(report.openGaps),
    },
    queue: {
      title: `Queue (${queue.kind})`,
      head: ['Steps that have not ended'],
      rows: queue.steps === undefined ? [] : [[formatCount(queue.steps)]],
      unknown,
    },
    runs: {
      title: 'Last runs',
      head: ['Run', 'Started', 'Took', 'Rate', 'Outcome', 'Result'],
      rows: report.runs.map((run) => runRow(run, report.at)),
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
    schedules: {
      title: 'Next runs',
      head: ['Run', 'At', 'Pattern', 'Zone'],
      rows: report.scheduled.map((one) => [one.job, one.next ? utc(one.next) : '', one.pattern, one.timeZone]),
      unknown,
    },
  };
}

function runRow(run: Run, now: Date): string[] {
  const seconds = run.finishedAt ? (run.finishedAt.getTime() - run.startedAt.getTime()) / 1000 : 0;
  const [kind, n = 0] = Object.entries(run.counts).find(([name]) => name === 'reviews' || name === 'orders') ?? [];
  return [
    run.job,
    utc(run.startedAt),
    run.finishedAt ? durationText(seconds) : '',
    n > 0 && seconds > 0 ? `${formatCount(Math.round(n / seconds))} ${kind}/s` : '',
    run.outcome ?? 'running',
    run.error ?? waitText(run, now) ?? countsText(run.counts),
  ];
}

/** Open gaps that are shown; `--json` has all. */
const shownGaps = 10;

function openGapRows(gaps: StatusReport['openGaps']): string[][] {
  const second = (at: number) => utc(new Date(at * 1000));
  const rows = gaps
    .slice(0, shownGaps)
    .map(({ axis, span, firstSeenAt, attempts, kind }) => [
      axis,
      second(span.start),
      second(span.end),
      utc(firstSeenAt),
      formatCount(attempts),
      gapReasons[kind],
    ]);
  const more = gaps.length - rows.length;
  return more > 0 ? [...rows, ['…', '', '', '', '', `and ${counted(more, 'more span')}`]] : rows;
}

const gapReasons: Readonly<Record<GapKind, string>> = {
  'too-many': 'more reviews than the service can show',
  unproven: 'the list changed at each reading, or shows less than the service has',
  refused: 'the service refuses the request (4xx)',
  failed: 'the service fails on the request (5xx or no usable response), or a step of a run failed',
};

/** The reason why the process that carries a run out waits; undefined if it does not wait. */
export function waitText({ waitReason, waitUntil, finishedAt }: Run, now: Date): string | undefined {
  if (waitReason === null || waitUntil === null || finishedAt || waitUntil <= now) return undefined;
  return `waits until ${utc(waitUntil).slice(11)}: ${waitReason}`;
}

/**
 * `For 1 h; 12 of 30 steps; 4,321 reviews, 72 per minute; about 2 min left`. Runs of orders plan in batches: their end
 * is unknown.
 */
export function progressText({ run, steps, isAttended, reviews }: RunInProgress, now: Date): string {
  const seconds = Math.max(0, (now.getTime() - run.startedAt.getTime()) / 1000);
  const { planned, ended = 0 } = steps ?? {};
  const isEndKnown = isAttended && ended > 0 && !isOfOrders(run);
  const rate = formatCount(Math.round((reviews * 60) / Math.max(1, seconds)));
  const parts = [
    `For ${durationText(seconds)}`,
    waitText(run, now),
    !steps && 'the queue does not say how far it is',
    planned !== undefined && `${formatCount(ended)} of ${formatCount(planned)} steps planned so far`,
    steps && planned === undefined && isAttended && 'it is being planned',
    reviews > 0 && `${counted(reviews, 'review')}, ${rate} per minute`,
    steps && !isAttended && 'it waits for a worker',
    planned !== undefined &&
      isEndKnown &&
      `about ${durationText((seconds / ended) * Math.max(0, planned - ended))} left`,
  ];
  return `${parts.filter(Boolean).join('; ')}.`;
}

const changes: Readonly<Record<FieldDrift['change'], (what: string, one: FieldDrift) => string>> = {
  new: (what, { exampleType }) => `the service shows ${what} (${exampleType}), which it did not`,
  gone: (what, { record, field }) =>
    `${what} is missing from all records${record === 'review' && isAlwaysShown(field) ? '; its column keeps the last values' : ''}`,
  null: (what) => `${what} is null, which it never was`,
  type: (what, { exampleType }) => `${what} has another type: ${exampleType}`,
  value: (what) => `${what} has a value that was not seen before`,
};

/** `a sub-order`. */
const nameOf = (record: FieldDrift['record']) => `${/^[eo]/.test(record) ? 'an' : 'a'} ${record.replace('_', '-')}`;

/** `since 2026-11-24 10:00:00 UTC likes_count of a review is missing from all records …`. It may be back by now. */
export function driftText(one: FieldDrift): string {
  const field = one.field === '…' ? 'a field of an unusual name, or one of more than 500,' : oneLine(one.field);
  const said = changes[one.change](`${field} of ${nameOf(one.record)}`, one);
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

/** Facts without a table, one sentence each. */
export function statusNotes(report: StatusReport): string[] {
  const { webhooks, alertWaitingDays, systems } = report;
  const waiting = waitingText(report);
  const { lastReceivedAt, waiting: unapplied } = webhooks;
  return [
    systems ? '' : 'Shop or service is not configured here: queue, schedules and holds are not shown.',
    waiting ? `${waiting}. No failure for ${counted(alertWaitingDays, 'day')} (ALERT_WAITING_DAYS).` : '',
    lastReceivedAt ? `Webhooks: the last one came ${utc(lastReceivedAt)}, ${formatCount(unapplied)} waiting.` : '',
  ].filter(Boolean);
}

/** `1,200 reviews, 1 request`; kinds with 0 are left out. */
export const countsText = (counts: Readonly<Record<string, number>>): string =>
  Object.entries(counts)
    .filter(([, n]) => n > 0)
    .map(([kind, n]) => `${formatCount(n)} ${nounOf(kind, n)}`)
    .join(', ');

/** `sub_orders_added`: `sub-orders added`, of one: `sub-order added`. */
function nounOf(kind: string, n: number): string {
  const noun = kind.replace('sub_orders', 'sub-orders').replaceAll('_', ' ');
  return n === 1 ? noun.replace(/(ie)?s\b/, (_, ie?: string) => (ie ? 'y' : '')) : noun;
}
