import { durationText } from './duration.ts';
import type { StatusReport } from './status-report.ts';
import { isAboutLetters } from './warehouse/dead-letters.ts';

/** Something that a person should look at: what it is, and what to do about it. */
export type Attention = {
  /** The same as long as it is the same trouble. */
  key: string;
  what: string;
  mend: string;
  /** Worth waking somebody: it is told to ALERT_WEBHOOK_URL. */
  isUrgent: boolean;
};

/** From when on something is worth a word. */
export type AttentionLimits = { lagMinutes: number; deadLetters: number };

/** What `status` and the page show: every dead letter, and a lag that missed several of the default schedules. */
const shown = { lagMinutes: 60, deadLetters: 1 };

/** What is wrong in a report, the most important first; empty: all is well. */
export function attentionOf(
  report: StatusReport,
  limits: AttentionLimits = { ...shown, lagMinutes: Math.min(shown.lagMinutes, report.alertLagMinutes) },
): Attention[] {
  return [
    ...neverRun(report),
    ...failedRuns(report),
    ...lagging(report, limits),
    ...quiet(report),
    ...gaps(report),
    ...letters(report, limits),
    ...webhooks(report),
  ];
}

function neverRun({ flows, newest }: StatusReport): Attention[] {
  return flows.flatMap(({ flow, watermark }) => {
    if (watermark !== null || newest.some(({ job }) => job === `sync-${flow}`)) return [];
    const mend = `npx review-sync sync ${flow}, or npx review-sync worker, which does it on its schedule`;
    return [{ key: `never ${flow}`, what: `${flow} were never synced`, mend, isUrgent: false }];
  });
}

/** A run by command that failed is no news for ever; a scheduled one is, until the next goes through. */
const commandsCountMs = 7 * 86_400_000;

function failedRuns({ newest, scheduled, at }: StatusReport): Attention[] {
  return newest.flatMap(({ job, outcome, error, finishedAt }) => {
    if (outcome !== 'failed' && (outcome !== 'incomplete' || isAboutLetters(error))) return [];
    const isScheduled = scheduled.some((one) => one.job === job);
    if (!isScheduled && at.getTime() - (finishedAt?.getTime() ?? 0) > commandsCountMs) return [];
    const what = `the last ${job} ${outcome === 'failed' ? 'failed' : 'was incomplete'}: ${error ?? ''}`;
    const doctor = 'npx review-sync doctor tells what is broken';
    const mend = outcome === 'failed' ? doctor : `the next run tries again; if it stays so, ${doctor}`;
    return [{ key: `failed ${job}`, what, mend, isUrgent: true }];
  });
}

function lagging({ flows, scheduled }: StatusReport, { lagMinutes }: AttentionLimits): Attention[] {
  return flows.flatMap(({ flow, lagSeconds }) => {
    if (lagSeconds === null || lagSeconds <= lagMinutes * 60) return [];
    const isPlanned = scheduled.some((one) => one.job === `sync-${flow}`);
    const mend = isPlanned
      ? 'see that a worker is running, and its log'
      : 'no schedule is set: start npx review-sync worker';
    const what = `${flow} are ${durationText(lagSeconds)} behind`;
    return [{ key: `lag ${flow}`, what, mend, isUrgent: true }];
  });
}

/** A flow that brings nothing for a day, though it usually brings this many: its source may have gone silent. */
const usualAtLeast = 10;

function quiet({ daily }: StatusReport): Attention[] {
  return daily.flatMap(({ flow, days: [today, ...before] }) => {
    const known = before.filter((n) => n !== null).sort((a, b) => a - b);
    const usual = known[Math.floor(known.length / 2)] ?? 0;
    if (today !== 0 || known.length < 7 || usual < usualAtLeast) return [];
    const what = `no ${flow} came in the last 24 hours, where ${usual.toLocaleString('en')} a day are usual`;
    const mend =
      flow === 'orders'
        ? 'see whether the shop query still finds orders'
        : 'see whether the service still shows reviews';
    return [{ key: `quiet ${flow}`, what, mend, isUrgent: true }];
  });
}

/** Wakes somebody only where everything had been read once: until then, and while a backfill goes on, holes are no news. */
function gaps(report: StatusReport): Attention[] {
  const holes = report.coverage.filter((month) => month.readDays < month.days);
  const missing = holes.reduce((sum, month) => sum + month.days - month.readDays, 0);
  if (missing === 0) return [];
  const what =
    missing === 1
      ? `1 day of reviews was not read completely: ${holes[0]?.firstHole}`
      : `${missing} days of reviews were not read completely, first ${holes[0]?.firstHole}`;
  const isUrgent = wasWhole(report) && !isBeingRead(report);
  return [{ key: 'gaps', what, mend: 'npx review-sync backfill reviews --gaps', isUrgent }];
}

/** The first sync, and a backfill without bounds, end well only when they have read all. */
function wasWhole({ flows, newest }: StatusReport): boolean {
  const isSynced = flows.some(({ flow, watermark }) => flow === 'reviews' && watermark !== null);
  return (
    isSynced || newest.some(({ id, outcome }) => id.startsWith('backfill-reviews_first_last') && outcome === 'done')
  );
}

/** A run that was left behind is none that goes on: it has ended no step for an hour. */
const goingMs = 3_600_000;

function isBeingRead({ runs, flows, at }: StatusReport): boolean {
  const isFirst = flows.some(({ flow, watermark }) => flow === 'reviews' && watermark === null);
  return runs.some(({ job, startedAt, finishedAt, parts }) => {
    if (finishedAt !== null || (job !== 'backfill-reviews' && !(isFirst && job === 'sync-reviews'))) return false;
    const lastAt = Math.max(startedAt.getTime(), ...parts.map((part) => part.lastAt.getTime()));
    return at.getTime() - lastAt < goingMs;
  });
}

function letters({ deadLetters }: StatusReport, limits: AttentionLimits): Attention[] {
  const open = deadLetters.reduce((sum, group) => sum + group.count, 0);
  if (open < limits.deadLetters || open === 0) return [];
  const records = open === 1 ? '1 record' : `${open} records`;
  return [
    {
      key: 'dead letters',
      what: `${records} could not be synced`,
      mend: 'npx review-sync dead-letters',
      isUrgent: true,
    },
  ];
}

function webhooks({ webhooks: inbox, at }: StatusReport): Attention[] {
  const waitingMs = inbox.oldestAt ? at.getTime() - inbox.oldestAt.getTime() : 0;
  if (waitingMs < 300_000) return [];
  const what = `${inbox.waiting} webhooks have waited for ${durationText(waitingMs / 1000)}`;
  return [{ key: 'webhooks', what, mend: inbox.lastError ?? 'see that serve or a worker is running', isUrgent: false }];
}
