import { durationText } from '../base/time/duration.ts';
import { backfillReviewsKey } from '../reviews/plan-backfill-reviews.ts';
import type { GapKind } from '../warehouse/reviews/open-gaps.ts';
import { changedQueriesNote } from '../warehouse/shop-queries.ts';
import { keylessUnknown, ordersGone, ordersWaitingForGrade, waitingForProducts } from './order-issues.ts';
import type { StatusReport } from './status-report.ts';
import { formatCount } from './status-view.ts';

/** Something that needs a person's attention, and the next step. */
export type Issue = {
  /** Identifies the issue: it stays the same while `what` changes. */
  key: string;
  what: string;
  hint: string;
  /** Whether the issue is posted to ALERT_WEBHOOK_URL. */
  isUrgent: boolean;
};

/** Thresholds above which a lag or a number of dead letters is an issue. */
export type IssueLimits = { lagMinutes: number; deadLetters: number };

/** Thresholds of `status` and the page: any dead letter, and a lag of several default schedules. */
const statusLimits = { lagMinutes: 60, deadLetters: 1 };

/** The issues of a report, the most important first. Decides by columns and counts, never by a stored text. */
export function issuesOf(
  report: StatusReport,
  limits: IssueLimits = { ...statusLimits, lagMinutes: Math.min(statusLimits.lagMinutes, report.alertLagMinutes) },
): Issue[] {
  return [
    ...queueDown(report),
    ...neverRun(report),
    ...failedRuns(report),
    ...lagging(report, limits),
    ...quiet(report),
    ...gaps(report),
    ...gapsLeft(report),
    ...manyDeadLetters(report, limits),
    ...waitingForProducts(report),
    ...ordersWaitingForGrade(report),
    ...changedQueries(report),
    ...ordersGone(report),
    ...keylessUnknown(report),
    ...webhooks(report),
  ];
}

function changedQueries({ changedQueries: changed }: StatusReport): Issue[] {
  const note = changedQueriesNote(changed);
  return note === undefined ? [] : [{ key: 'changed queries', ...note, isUrgent: false }];
}

function queueDown({ queue }: StatusReport): Issue[] {
  if (queue.error === undefined) return [];
  const hint = 'start its server; jobs and schedules in it are not shown. npx review-sync doctor says more';
  return [{ key: 'queue', what: `the queue cannot be read: ${queue.error}`, hint, isUrgent: true }];
}

function neverRun({ flows, newest }: StatusReport): Issue[] {
  return flows.flatMap(({ flow, watermark }) => {
    if (watermark !== null || newest.some(({ job }) => job === `sync-${flow}`)) return [];
    const hint = `npx review-sync sync ${flow}, or npx review-sync worker, which runs it on its schedule`;
    return [{ key: `never ${flow}`, what: `${flow} were never synced`, hint, isUrgent: false }];
  });
}

/** A failed run of a command is an issue for a week. A failed scheduled run is one until the next run ends well. */
const commandIssueMs = 7 * 86_400_000;

/** Without the queue the schedules are not known; every job then counts as scheduled. */
const isScheduled = ({ scheduled, queue }: StatusReport, job: string) =>
  queue.error !== undefined || scheduled.some((one) => one.job === job);

function failedRuns(report: StatusReport): Issue[] {
  return report.newest.flatMap(({ job, outcome, reason, error, finishedAt }) => {
    if (outcome !== 'failed' && (outcome !== 'incomplete' || reason === 'dead-letters')) return [];
    const ageMs = report.at.getTime() - (finishedAt?.getTime() ?? 0);
    if (!isScheduled(report, job) && ageMs > commandIssueMs) return [];
    const what = `the last ${job} ${outcome === 'failed' ? 'failed' : 'was incomplete'}: ${error ?? ''}`;
    const doctor = 'npx review-sync doctor says what is broken';
    const hint = outcome === 'failed' ? doctor : `the next run tries again; if that does not help, ${doctor}`;
    return [{ key: `failed ${job}`, what, hint, isUrgent: true }];
  });
}

function lagging(report: StatusReport, { lagMinutes }: IssueLimits): Issue[] {
  return report.flows.flatMap(({ flow, lagSeconds }) => {
    if (lagSeconds === null || lagSeconds <= lagMinutes * 60) return [];
    const hint = isScheduled(report, `sync-${flow}`)
      ? 'check that a worker is running, and its log'
      : 'no schedule is set: start npx review-sync worker';
    const what = `${flow} are ${durationText(lagSeconds)} behind`;
    return [{ key: `lag ${flow}`, what, hint, isUrgent: true }];
  });
}

/** A flow with fewer records a day than this may have none for a day without an issue. */
const usualAtLeast = 10;

function quiet({ daily }: StatusReport): Issue[] {
  return daily.flatMap(({ flow, days: [today, ...before] }) => {
    const known = before.filter((n) => n !== null).sort((a, b) => a - b);
    const usual = known[Math.floor(known.length / 2)] ?? 0;
    if (today !== 0 || known.length < 7 || usual < usualAtLeast) return [];
    const what = `no ${flow} came in the last 24 hours, where ${formatCount(usual)} a day are usual`;
    const hint =
      flow === 'orders'
        ? 'check whether the shop query still finds orders'
        : 'check whether the service still lists reviews';
    return [{ key: `quiet ${flow}`, what, hint, isUrgent: true }];
  });
}

/** Urgent only after everything was read once, and not while a backfill is running: until then holes are expected. */
function gaps(report: StatusReport): Issue[] {
  const holes = report.coverage.filter((month) => month.readDays < month.days);
  const missing = holes.reduce((sum, month) => sum + month.days - month.readDays, 0);
  if (missing === 0) return [];
  const what =
    missing === 1
      ? `1 day of reviews was not read completely: ${holes[0]?.firstHole}`
      : `${missing} days of reviews were not read completely, first ${holes[0]?.firstHole}`;
  const isUrgent = wasComplete(report) && !isBeingRead(report);
  return [{ key: 'gaps', what, hint: 'npx review-sync backfill reviews --gaps', isUrgent }];
}

/** The next step for a span that could not be read, by the reason. */
const gapHints: Readonly<Record<GapKind, string>> = {
  'too-many':
    'npx review-sync backfill reviews reads reviews by their creation date; ' +
    'if the gap is one of creation dates, ask the service’s makers',
  unproven:
    'later runs try again; if the reason names other dates, set REVIEW_API_TIME_ZONE to the zone in which the service ' +
    'reads dates',
  refused: 'the service refuses these dates: ask the service’s makers; later runs try again',
  failed: 'later runs try again; if that does not help, npx review-sync doctor says what is broken',
};

/** Where a request failed, or the list changed, the next attempts may succeed. */
function gapsLeft({ openGaps: gaps }: StatusReport): Issue[] {
  const [first] = gaps;
  if (!first) return [];
  const more = gaps.length > 1 ? ` (and ${gaps.length - 1} more spans)` : '';
  const isPassing = (kind: GapKind) => kind === 'failed' || kind === 'unproven';
  const isUrgent = gaps.some(({ kind, attempts }) => !isPassing(kind) || attempts > 3);
  return [{ key: 'open gaps', what: `${first.reason}${more}`, hint: gapHints[first.kind], isUrgent }];
}

/** Keys of the backfills that read the whole history. */
const wholeBackfills: readonly (string | null)[] = [
  backfillReviewsKey({ gaps: false }),
  backfillReviewsKey({ gaps: true }),
];

/** Whether everything was read once: by the first sync, unless it left gaps, or by a backfill without bounds. */
function wasComplete({ flows, newest, openGaps }: StatusReport): boolean {
  const isSynced = flows.some(({ flow, watermark }) => flow === 'reviews' && watermark !== null);
  if (isSynced && openGaps.length === 0) return true;
  return newest.some(({ key, outcome }) => wholeBackfills.includes(key) && outcome === 'done');
}

/**
 * Whether a backfill or the first sync is running. The next run to begin marks a run that lost its job as abandoned.
 */
function isBeingRead({ runs, flows }: StatusReport): boolean {
  const isFirst = flows.some(({ flow, watermark }) => flow === 'reviews' && watermark === null);
  return runs.some(
    ({ job, finishedAt }) => finishedAt === null && (job === 'backfill-reviews' || (isFirst && job === 'sync-reviews')),
  );
}

function manyDeadLetters({ deadLetters }: StatusReport, limits: IssueLimits): Issue[] {
  const open = deadLetters.reduce((sum, group) => sum + group.count, 0);
  if (open < limits.deadLetters || open === 0) return [];
  const records = open === 1 ? '1 record' : `${open} records`;
  return [
    {
      key: 'dead letters',
      what: `${records} could not be synced`,
      hint: 'npx review-sync dead-letters',
      isUrgent: true,
    },
  ];
}

function webhooks({ webhooks: inbox, at }: StatusReport): Issue[] {
  const waitingMs = inbox.oldestAt ? at.getTime() - inbox.oldestAt.getTime() : 0;
  if (waitingMs < 300_000) return [];
  const what = `${inbox.waiting} webhooks have waited for ${durationText(waitingMs / 1000)}`;
  return [
    { key: 'webhooks', what, hint: inbox.lastError ?? 'check that serve or a worker is running', isUrgent: false },
  ];
}
