import { sql } from 'kysely';
import type { Db } from '../index.ts';
import type { DeadLetterKind } from '../schema.ts';

/**
 * Runs `work` in a transaction whose statements may take `timeoutMs` milliseconds each.
 *
 * @throws DatabaseError 57014 where one takes longer.
 */
export function withStatementTimeout<T>(db: Db, timeoutMs: number, work: (trx: Db) => Promise<T>): Promise<T> {
  return db.transaction().execute(async (trx) => {
    await sql`select set_config('statement_timeout', ${String(timeoutMs)}, true)`.execute(trx);
    return work(trx);
  });
}

/** The days of a chart: `first` and `last` are calendar days `yyyy-mm-dd` in the zone, both inclusive. */
export type Days = { first: string; last: string; timeZone: string };

const daysOf = ({ first, last }: Days) =>
  sql`generate_series(${first}::timestamp, ${last}::timestamp, interval '1 day') as days (day)`;

const startOf = ({ first, timeZone }: Days) => sql`(${first}::timestamp at time zone ${timeZone})`;

/**
 * Reviews by the day on which they were written. `stored`: in the warehouse. `refused`: open dead letters, by the day
 * of their first failure.
 */
export type ReviewDay = { day: string; stored: number; refused: number };

/** Reads the counts by day as of the last count, and dead letters of these days by index: not the reviews themselves. */
export async function reviewsByDay(db: Db, days: Days): Promise<ReviewDay[]> {
  const { timeZone } = days;
  const { rows } = await sql<ReviewDay>`
    with held as (
      select day, sum(reviews) as n from sync.review_day_counts where day >= ${days.first}::date group by day
    ),
    refused as (
      select (first_failed_at at time zone ${timeZone})::date as day, count(*) as n
      from sync.dead_letters
      where kind = 'review' and resolved_at is null and first_failed_at >= ${startOf(days)}
      group by 1
    )
    select to_char(days.day, 'YYYY-MM-DD') as day,
      coalesce(held.n, 0)::bigint as stored, coalesce(refused.n, 0)::bigint as refused
    from ${daysOf(days)}
    left join held on held.day = days.day::date
    left join refused on refused.day = days.day::date
    order by 1`.execute(db);
  return rows;
}

/** What the runs that ended on a day did with orders. `runs`: how many of them pushed orders. */
export type OrderDay = {
  day: string;
  runs: number;
  pushed: number;
  failed: number;
  deleted: number;
  unchanged: number;
};

/** Runs that began more than 30 days before the first day are left out. */
export async function ordersByDay(db: Db, days: Days): Promise<OrderDay[]> {
  const n = (name: string) => sql`coalesce(sum((run.counts ->> ${name})::bigint), 0)::bigint`;
  const { rows } = await sql<OrderDay>`
    select to_char(days.day, 'YYYY-MM-DD') as day, count(run.id)::integer as runs, ${n('orders_pushed')} as pushed,
      ${n('orders_failed')} as failed, ${n('orders_deleted')} as deleted, ${n('orders_unchanged')} as unchanged
    from ${daysOf(days)}
    left join (
      select id, counts, (finished_at at time zone ${days.timeZone})::date as day
      from sync.runs
      where job in ('sync-orders', 'rescan-orders', 'backfill-orders') and outcome in ('done', 'incomplete')
        and started_at >= ${startOf(days)} - interval '30 days' and finished_at >= ${startOf(days)}
    ) as run on run.day = days.day::date
    group by days.day
    order by 1`.execute(db);
  return rows;
}

/** Dead letters of one kind that were open at the end of a day. */
export type DeadLetterDay = { day: string; kind: DeadLetterKind; open: number };

/**
 * Reads the dead letters that are open, or were closed since the first day. Days and kinds without any are left out.
 */
export async function deadLettersByDay(db: Db, days: Days): Promise<DeadLetterDay[]> {
  const end = sql`((days.day + interval '1 day') at time zone ${days.timeZone})`;
  const { rows } = await sql<DeadLetterDay>`
    select to_char(days.day, 'YYYY-MM-DD') as day, kind, count(*) as open
    from ${daysOf(days)}
    join sync.dead_letters on first_failed_at < ${end} and (resolved_at is null or resolved_at >= ${end})
    where resolved_at is null or resolved_at >= ${startOf(days)}
    group by 1, 2
    order by 1, 2`.execute(db);
  return rows;
}

/**
 * Runs of an incremental flow that ended within one span of time. `number`: which span, the first is 0; a negative one
 * is before the first. `worstSeconds`: the largest lag just before one of them ended; null where no run before it is
 * known.
 */
export type LagSpan = { job: string; number: number; worstSeconds: number | null; lastStartedAt: Date };

/**
 * The lag of the incremental flows, from the runs that moved their cursor: such a run has read everything up to its
 * start, so the lag just before the next one ends is the time since then. Reads the runs since `from`, and one before
 * them.
 *
 * @param spanSeconds length of a span.
 */
export async function lagSpans(db: Db, from: Date, spanSeconds: number): Promise<LagSpan[]> {
  // A run of orders with failed steps leaves its cursor; one of reviews moves it and records what it could not read as
  // a gap.
  const moved = sql`r.job = flow.job and (outcome = 'done' or (outcome = 'incomplete'
    and (r.job = 'sync-reviews' or reason is distinct from 'steps-failed')))`;
  const { rows } = await sql<LagSpan>`
    select job, floor(extract(epoch from finished_at - ${from}::timestamptz) / ${spanSeconds}::integer)::integer as number,
      max(seconds)::float8 as "worstSeconds", max(started_at) as "lastStartedAt"
    from (
      select flow.job, run.started_at, run.finished_at,
        extract(epoch from finished_at - lag(started_at) over (partition by flow.job order by finished_at)) as seconds
      from (values ('sync-orders'), ('sync-reviews')) as flow (job)
      cross join lateral (
        select started_at, finished_at from sync.runs r where ${moved} and started_at >= ${from}
        union all
        (select started_at, finished_at from sync.runs r where ${moved} and started_at < ${from}
         order by started_at desc limit 1)
      ) as run
    ) as ends
    group by 1, 2
    order by 1, 2`.execute(db);
  return rows;
}
