import { driftKey, type Issue } from '../alerts/post-issues.ts';
import { codesText, counted, formatCount } from '../base/counts.ts';
import { durationText } from '../base/time/duration.ts';
import { holdText } from '../review-api/index.ts';
import type { GapKind } from '../warehouse/reviews/coverage.ts';
import { differingSystems, mayDo } from './run-rights.ts';
import type { StatusReport } from './status-report.ts';
import { driftText, utc, waitingText } from './status-view.ts';

/** The issues of a report, the most important first. Decides by columns and counts, never by stored text. */
export function issuesOf(report: StatusReport): Issue[] {
  return [
    ...queueDown(report),
    ...leftRuns(report),
    ...held(report),
    ...tokenRefused(report),
    ...neverRun(report),
    ...failedRuns(report),
    ...lagging(report),
    ...quiet(report),
    ...gaps(report),
    ...gapsLeft(report),
    ...openDeadLetters(report),
    ...waitingForProducts(report),
    ...waitingForGrades(report),
    ...changedQueries(report),
    ...ordersGone(report),
    ...webhooks(report),
    ...drift(report),
  ];
}

const note = (key: string, what: string, hint: string): Issue[] => [{ key, what, hint, isUrgent: false }];
const urgent = (key: string, what: string, hint: string): Issue[] => [{ key, what, hint, isUrgent: true }];

function queueDown({ queue }: StatusReport): Issue[] {
  if (queue.error === undefined) return [];
  const hint = `${queue.hint?.replace(/\.$/, '')}. review-sync doctor says more`;
  return urgent('queue', `the queue cannot be read: ${queue.error}`, hint);
}

function leftRuns({ leftRuns, systems }: StatusReport): Issue[] {
  return leftRuns.flatMap((run) => {
    const steps = run.stepsLeft === undefined ? '' : `, ${counted(run.stepsLeft, 'step waits', 'steps wait')}`;
    const differing = systems ? differingSystems(run.systems, systems).map(({ what }) => `; ${what}`) : [];
    const what =
      `${run.job} (begun ${utc(run.startedAt).slice(0, 16)} UTC) has not ended and no process ` +
      `carries it out${steps}. ${mayDo(run)}${differing.join('')}`;
    const hint =
      'review-sync worker continues it; if a worker runs, its log and review-sync doctor say why it does not; ' +
      `review-sync runs end ${run.id} ends it`;
    return note(`left run ${run.id}`, what, hint);
  });
}

/** The interface has no versions: the service does not announce what it adds or drops. */
export function drift({ drift: found }: Pick<StatusReport, 'drift'>): Issue[] {
  return found.slice(0, mostDriftIssues).flatMap((one) => {
    const key = `${driftKey}${one.record}.${one.field} ${one.change} ${one.exampleType} ${one.firstSeenAt.toISOString()}`;
    const accept = `ask the makers of the service; if it stays so: review-sync migrate --accept-gone ${one.field}`;
    const isGone = one.change === 'gone' && one.record === 'review';
    return urgent(key, driftText(one), isGone ? accept : 'nothing is lost; see bi.field_drift');
  });
}
const mostDriftIssues = 10;

/** No alert: the service named the end of the wait, and the runs then go on. */
function held({ session: { heldUntil, heldReason } }: StatusReport): Issue[] {
  if (heldUntil === null) return [];
  const what = `no request is sent before ${utc(heldUntil)} UTC: ${holdText(heldReason)}`;
  const hint =
    'runs wait and go on by themselves; nothing is lost. If its makers say that this is a mistake, run in the warehouse ' +
    '(with brands, sync_<brand>): update sync.service_session set held_until = null';
  return note('held', what, hint);
}

/** A token may end now and then. This many refused tokens in an hour have another reason. */
const refusalsOfNote = 5;

export function tokenRefused({ session: { refusedInHour } }: Pick<StatusReport, 'session'>): Issue[] {
  if (refusedInHour < refusalsOfNote) return [];
  const what = `the token was revoked ${refusedInHour} times in an hour: another program uses this client id, or the service's tokens expire very soon`;
  const hint =
    'give each program a client id of its own at the service; if no other program uses this one, ask the service’s makers how long a token is valid';
  return note('token refused', what, hint);
}

function neverRun({ flows, newest }: StatusReport): Issue[] {
  return flows.flatMap(({ flow, watermark, isScheduled }) => {
    if (!isScheduled || watermark !== null || newest.some(({ job }) => job === `sync-${flow}`)) return [];
    const hint = `review-sync sync ${flow}, or review-sync worker, which runs it on its schedule`;
    return note(`never ${flow}`, `${flow} were never synced`, hint);
  });
}

/** A failed run of a command is an issue for a week. A failed scheduled run is an issue until the next run succeeds. */
const commandIssueMs = 7 * 86_400_000;

function failedRuns({ newest, at }: StatusReport): Issue[] {
  return newest.flatMap(({ job, startedBy, outcome, reason, error, finishedAt }) => {
    if (outcome !== 'failed' && (outcome !== 'incomplete' || reason === 'dead-letters')) return [];
    const ageMs = at.getTime() - (finishedAt?.getTime() ?? 0);
    if (startedBy === 'command' && ageMs > commandIssueMs) return [];
    const what = `the last ${job} ${outcome === 'failed' ? 'failed' : 'was incomplete'}: ${error ?? ''}`;
    const doctor = 'review-sync doctor says what is broken';
    const hint = outcome === 'failed' ? doctor : `the next run tries again; if that does not help, ${doctor}`;
    return urgent(`failed ${job}`, what, hint);
  });
}

function lagging({ flows, alertLagMinutes }: StatusReport): Issue[] {
  return flows.flatMap(({ flow, lagSeconds, isScheduled, overdueSeconds }) => {
    // Without a schedule, something else starts the runs. Assume once a day.
    const lateSeconds = isScheduled ? overdueSeconds : lagSeconds && lagSeconds - 86_400;
    if (lagSeconds === null || lateSeconds === null || lateSeconds <= alertLagMinutes * 60) return [];
    const what = `${flow} are ${durationText(lagSeconds)} behind`;
    const hint = 'check that a worker is running, and its log';
    return urgent(`lag ${flow}`, what, isScheduled ? hint : 'no schedule is set: check what starts these runs');
  });
}

/** A flow with fewer records a day than this may have none for a day without an issue. */
const usualAtLeast = 10;

function quiet({ daily }: StatusReport): Issue[] {
  return daily.flatMap(({ flow, days: [today, ...before] }) => {
    const known = before.filter((n) => n !== null).sort((a, b) => a - b);
    const usual = known[Math.floor(known.length / 2)] ?? 0;
    if (today !== 0 || known.length < 7 || usual < usualAtLeast) return [];
    const what = `no ${flow} came in the last 24 hours; usually ${formatCount(usual)} a day come`;
    const finds = flow === 'orders' ? 'the shop query still finds orders' : 'the service still lists reviews';
    return urgent(`quiet ${flow}`, what, `check whether ${finds}`);
  });
}

/** No alert: the first sync and the nightly reconcile read these days. If they cannot, there is an open gap. */
function gaps({ coverage }: StatusReport): Issue[] {
  const holes = coverage.reduce((sum, month) => sum + month.holes, 0);
  if (holes === 0) return [];
  const days = counted(holes, 'day of reviews was', 'days of reviews were');
  const what = `${days} not read completely, first ${coverage.find((month) => month.holes > 0)?.firstHole}`;
  return note('gaps', what, 'review-sync backfill reviews --gaps');
}

/** The next step for an unread span, by the reason. */
const gapHints: Readonly<Record<GapKind, string>> = {
  'too-many':
    'review-sync backfill reviews reads reviews by their creation date; ' +
    'if the gap is one of creation dates, ask the service’s makers',
  unproven: 'later runs try again',
  refused: 'the service refuses these dates: ask the service’s makers; later runs try again',
  failed: 'later runs try again; if that does not help, review-sync doctor says what is broken',
};

function gapsLeft({ openGaps: open }: StatusReport): Issue[] {
  const [first] = open;
  if (!first) return [];
  const more = open.length > 1 ? ` (and ${counted(open.length - 1, 'more span')})` : '';
  const isPassing = (kind: GapKind) => kind === 'failed' || kind === 'unproven';
  const isUrgent = open.some(({ kind, attempts }) => !isPassing(kind) || attempts > 3);
  return (isUrgent ? urgent : note)('open gaps', `${first.reason}${more}`, gapHints[first.kind]);
}

function openDeadLetters({ deadLetters, alertDeadLetters }: StatusReport): Issue[] {
  const open = deadLetters.reduce((sum, group) => sum + group.count, 0);
  if (open === 0) return [];
  const raise = open >= alertDeadLetters ? urgent : note;
  return raise('dead letters', `${counted(open, 'record')} could not be synced`, 'review-sync dead-letters');
}

/** A waiting line is no failure: until ALERT_WAITING_DAYS it is a note of the status, see statusNotes. */
function waitingForProducts(report: StatusReport): Issue[] {
  const what = waitingText(report);
  const sinceMs = report.waiting.oldest?.since.getTime() ?? Number.NaN;
  if (what === undefined || report.at.getTime() - sinceMs < report.alertWaitingDays * 86_400_000) return [];
  const hint =
    'a line is sent as soon as a review or an order list names its product id; ' +
    'or give product_id in order_lines.sql';
  return urgent('waiting lines', what, hint);
}

function waitingForGrades({ waitingForGrades: { orders, grades } }: StatusReport): Issue[] {
  if (orders === 0) return [];
  return note(
    'waiting for grades',
    `${counted(orders, 'order has', 'orders have')} a member grade that is not at the service yet (${counted(grades, 'grade')}); each keeps the grade that was sent before`,
    'review-sync sync catalog makes the grades of user_grades.sql, and the next run of orders sends them; ' +
      'if they still wait, add what is missing to user_grades.sql, or leave user_grade_code out of orders.sql',
  );
}

/** The text of `status`, `doctor` and the next run if orders were read by other queries than now. */
export const queriesChanged =
  'orders.sql, order_lines.sql or SHOP_TIME_ZONE has changed: orders that were pushed before are at the service as they ' +
  'were read then';

export const queriesChangedHint =
  'review-sync backfill orders sends those that differ now, and ends this notice; ' +
  'look first: review-sync backfill orders --dry-run --diff --limit 20';

/** The first run after the change detects it. A complete `backfill orders` ends it. */
function changedQueries({ orderQueries: { changedAt } }: StatusReport): Issue[] {
  if (changedAt === null) return [];
  return note('changed queries', `${queriesChanged} (seen at ${utc(changedAt)} UTC)`, queriesChangedHint);
}

function ordersGone({ absentOrders: { orders, examples }, orderDeletes }: StatusReport): Issue[] {
  if (orders === 0) return [];
  const hint =
    orderDeletes === 'off'
      ? 'they stay at the service; delete them there by hand, or set ORDER_DELETES=send: a rescan then deletes an order created in the last ORDER_RESCAN_DAYS a day after it was first missed'
      : 'a rescan deletes an order created in the last ORDER_RESCAN_DAYS a day after it was first missed, unless it has reviews; delete older orders at the service by hand';
  const what = `${counted(orders, 'pushed order')} (${codesText(examples, orders)}) left the shop`;
  return note('absent orders', what, hint);
}

function webhooks({ webhooks: { waiting, dueSince }, at }: StatusReport): Issue[] {
  const waitingMs = dueSince ? at.getTime() - dueSince.getTime() : 0;
  if (waitingMs < 300_000) return [];
  const what = `${counted(waiting, 'webhook')} waiting for ${durationText(waitingMs / 1000)}`;
  return note('webhooks', what, 'check that serve or a worker is running, and its log');
}
