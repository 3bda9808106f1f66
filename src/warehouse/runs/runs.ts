import { type RawBuilder, sql } from 'kysely';
import type pg from 'pg';
import { mask } from '../../base/mask.ts';
import { type Db, listOf, rowsOf, warehouseNow, write } from '../index.ts';

/** Why a run, or a push without a run, exists. orders/contact-rule.ts says which triggers may send contact. */
export const triggers = [
  'sync',
  'rescan',
  'backfill',
  'backfill with e-mail',
  'repair',
  'retry',
  'retry before the first sync',
  'show',
] as const;
export type Trigger = (typeof triggers)[number];

/** What a run may do. A person or the schedule decides it. The run's row in sync.runs stores it. */
export type RunRights = Readonly<{
  trigger: Trigger;
  /** `--allow-removals`: remove beyond the day's allowance, and all lines of an order. */
  allowRemovals: boolean;
  /** First and last day of a backfill, `yyyy-mm-dd` in the zone of the plan; undefined: open. */
  from: string | undefined;
  to: string | undefined;
  /** `--gaps` of a backfill of reviews. */
  gaps: boolean;
  /** ORDER_CONTACT_MAX_AGE_DAYS of the process that started the run. */
  contactMaxAgeDays: number;
  /** ORDER_DELETES of the process that started the run. */
  deletes: 'off' | 'send';
}>;

/** The zone and the systems that a run is planned for. Another process carries the run out only if it has the same. */
export type RunSystems = Readonly<{
  /** REVIEW_API_TIME_ZONE. */
  timeZone: string;
  /** The address of the shop's database, without user and password; empty: the run reads no shop. */
  shop: string;
  /** The address of the service, and a hash of the client id. */
  service: string;
}>;

export type RunOutcome = 'done' | 'incomplete' | 'failed' | 'abandoned';

/** Why a run is incomplete. If several reasons apply, the first in this list counts. */
export type RunReason = 'steps-failed' | 'problem' | 'dead-letters';

export type Run = {
  id: string;
  job: string;
  /** A backfill has a key, such as `backfill-reviews_2024-01-01_last`. The next backfill of that key continues or replaces it. */
  key: string | null;
  startedBy: 'schedule' | 'command';
  /** By the clock of the warehouse, as `finishedAt`. */
  startedAt: Date;
  finishedAt: Date | null;
  outcome: RunOutcome | null;
  /** Why an incomplete run is incomplete; for people, `error` says it in full. */
  reason: RunReason | null;
  counts: Record<string, number>;
  error: string | null;
  rights: RunRights;
  systems: RunSystems;
  /** When a process last noted that it carries the run out. */
  attendedAt: Date | null;
  /** Why that process last waited, and until when. */
  waitReason: string | null;
  waitUntil: Date | null;
};

export type NewRun = Pick<Run, 'id' | 'job' | 'startedBy' | 'rights' | 'systems'> & { key?: Run['key'] | undefined };

/**
 * Records that a run begins, and what it may do. If the row exists, it stays as it is.
 *
 * @returns false if a scheduled run of the same job, or a run of the same key, is open.
 */
export async function beginRun(db: Db, run: NewRun): Promise<boolean> {
  const { rights, systems, ...row } = run;
  try {
    await rowsOf(db, 'begin_run', JSON.stringify({ ...row, ...rights, ...systems }));
    return true;
  } catch (error) {
    const { constraint = '' } = error as pg.DatabaseError;
    if (['runs_one_scheduled_at_a_time', 'runs_one_of_a_key_at_a_time'].includes(constraint)) return false;
    throw error;
  }
}

export type RunEnd = { outcome: RunOutcome; counts?: Record<string, number>; reason?: RunReason; error?: string };

/** Records how a run ended. Does nothing if it has ended already. @returns whether it had not. */
export async function finishRun(db: Db, id: string, end: RunEnd): Promise<boolean> {
  const { outcome, counts = {}, reason = null, error = null } = end;
  const ended = await write(db)`
    update sync.runs set finished_at = clock_timestamp(), outcome = ${outcome}, counts = ${JSON.stringify(counts)}::jsonb,
      reason = ${reason}, error = ${error}
    where id = ${id} and finished_at is null`;
  return ended > 0;
}

/** A run continues an unfinished run of the same key up to this age: older reads may be outdated. */
const continuedWithinMs = 7 * 86_400_000;

/**
 * The start of the unfinished work of this key: the oldest run of the key within the last seven days that began after
 * the newest complete run. Spans read since then are not read again. A run is complete if it ended `done`, or
 * `incomplete` for another reason than failed steps.
 *
 * @returns undefined if there is nothing to continue. Once it has begun, the calling run counts, too.
 */
export async function unfinishedSince(db: Db, key: string, now: Date): Promise<Date | undefined> {
  const since = new Date(now.getTime() - continuedWithinMs);
  const [run] = await rowsOf<{ since: Date | null }>(db, 'unfinished_since', key, since);
  return run?.since ?? undefined;
}

/** JSON has null for undefined. */
function asRun(row: Run): Run {
  const { from, to } = row.rights;
  return { ...row, rights: { ...row.rights, from: from ?? undefined, to: to ?? undefined } };
}

const runsWhere = async (db: Db, condition: RawBuilder<unknown>) =>
  (await listOf<Run>(db)`select * from sync.run_rows where ${condition}`).map(asRun);

/** The row of a run. Undefined: the row is missing, and no process may carry the run out. */
export const findRun = async (db: Db, id: string) => (await runsWhere(db, sql`id = ${id}`)).at(0);

/** Runs that have not ended, the oldest first. @param orId includes this run, even if it has ended. */
export const openRuns = (db: Db, orId?: string) =>
  runsWhere(db, sql`"finishedAt" is null or id = ${orId ?? null} order by "startedAt"`);

/** Why a process waits, and until when. */
export type RunWait = { reason: string; untilMs: number };

/** Notes that a process carries these runs out, and what it waits for. */
export async function noteAttended(db: Db, ids: readonly string[], wait: RunWait | undefined): Promise<void> {
  if (ids.length === 0) return;
  const [reason, until] = wait ? [mask(wait.reason), new Date(wait.untilMs)] : [null, null];
  await write(db)`update sync.runs set attended_at = clock_timestamp(), wait_reason = ${reason}, wait_until = ${until}
    where id = any(${ids}) and finished_at is null`;
}

/** This process no longer carries these runs out. If another process does, it notes itself again at once. */
export async function noteLeft(db: Db, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return;
  await write(db)`update sync.runs set attended_at = 'epoch' where id = any(${ids}) and finished_at is null`;
}

/** A process notes once a second which runs it carries out. After this many milliseconds without a note, none does. */
const unattendedAfterMs = 5000;

/** Whether no process carries the run out. A new run has as long to find one. @param now by the warehouse's clock. */
export const isUnattended = ({ attendedAt, startedAt, finishedAt }: Run, now: Date, afterMs = unattendedAfterMs) =>
  finishedAt === null && now.getTime() - (attendedAt ?? startedAt).getTime() > afterMs;

/** Whether a process has begun to carry the run out, and still does. @param now as for `isUnattended`. */
export const isAttended = (run: Run, now: Date) => run.attendedAt !== null && !isUnattended(run, now);

/** The open runs that no process carries out, the oldest first. */
export async function unattendedRuns(db: Db): Promise<Run[]> {
  const open = await openRuns(db);
  if (open.length === 0) return [];
  const now = await warehouseNow(db);
  return open.filter((run) => isUnattended(run, now));
}

/** The newest runs of all jobs. Open runs come first, whatever their age. Each half is read by its own index. */
export async function lastRuns(db: Db, limit: number): Promise<Run[]> {
  const open = await runsWhere(db, sql`"finishedAt" is null order by "startedAt" desc limit ${limit}`);
  const rest = limit - open.length;
  return [...open, ...(await runsWhere(db, sql`"finishedAt" is not null order by "startedAt" desc limit ${rest}`))];
}

/** The newest ended run of each job, whatever its age. Runs that a person stopped say nothing, and are left out. */
export const newestEnded = async (db: Db) => (await rowsOf<Run>(db, 'newest_ended')).map(asRun);

/**
 * A run of the job with this trigger: an open one, else the newest, whatever its outcome. A run of a version that did
 * not know triggers counts, too: it may have been a backfill that withheld contact.
 */
export async function openOrNewest(db: Db, job: string, trigger: Trigger): Promise<Run | undefined> {
  const ofReason = sql`job = ${job} and coalesce(rights ->> 'trigger', ${trigger}) = ${trigger}`;
  return (await runsWhere(db, sql`${ofReason} order by "finishedAt" is null desc, "startedAt" desc limit 1`)).at(0);
}
