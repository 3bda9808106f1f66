import { sql } from 'kysely';
import type { App } from './app.ts';
import { type PlannedRun, plannedRuns } from './queue/schedules.ts';
import { type Cursor, type Flow, readCursor } from './warehouse/cursors.ts';
import { type DeadLetterGroup, groupDeadLetters } from './warehouse/dead-letters.ts';
import type { Db } from './warehouse/index.ts';
import { lastRuns, type Run } from './warehouse/runs.ts';

export type FlowStatus = { flow: Flow; watermark: string | null; lagSeconds: number | null };

/** `readDays` of the month's days were read completely, on the created axis. */
export type MonthCoverage = { month: string; days: number; readDays: number; reviews: number };

export type StatusReport = {
  flows: FlowStatus[];
  coverage: MonthCoverage[];
  queue: { kind: 'redis' | 'postgres'; jobs: Record<string, Record<string, number>> };
  runs: Run[];
  deadLetters: DeadLetterGroup[];
  scheduled: PlannedRun[];
};

/** One value that tells how everything stands; drawn by `status` and by whatever else shows it. Changes nothing. */
export async function statusReport(app: App): Promise<StatusReport> {
  const { db } = app.warehouse;
  const now = app.now();
  return {
    flows: await Promise.all(
      (['orders', 'reviews'] as const).map(async (flow) => flowOf(flow, await readCursor(db, flow), now)),
    ),
    coverage: await coverage(db, app.config.api.timeZone),
    queue: { kind: app.queues.kind, jobs: await app.queues.counts() },
    runs: await lastRuns(db, 10),
    deadLetters: await groupDeadLetters(db),
    scheduled: await plannedRuns(app.queues),
  };
}

function flowOf(flow: Flow, cursor: Cursor | undefined, now: Date): FlowStatus {
  if (!cursor) return { flow, watermark: null, lagSeconds: null };
  const at = new Date(cursor.at.replace(' ', 'T').replace(/\+00$/, 'Z'));
  return { flow, watermark: at.toISOString(), lagSeconds: Math.round((now.getTime() - at.getTime()) / 1000) };
}

/** By calendar month in the service's zone, between the bounds that the service's overview told last. */
async function coverage(db: Db, timeZone: string): Promise<MonthCoverage[]> {
  const { rows } = await sql<MonthCoverage>`
    with spans as (
      select coalesce(range_agg(tstzrange(start_at, end_at + interval '1 second')), '{}') as read
      from sync.export_windows where axis = 'created'
    ),
    held as (
      select date_trunc('day', created_at at time zone ${timeZone}) as day, count(*)::integer as reviews
      from warehouse.reviews where deleted_at is null group by 1
    ),
    bounds as (
      select first_review_created_at as first, last_review_created_at as last
      from warehouse.review_overview
      where first_review_created_at is not null
      order by captured_at desc
      limit 1
    ),
    days as (
      select bounds.*, day
      from bounds
      cross join lateral generate_series(
        date_trunc('day', first at time zone ${timeZone}),
        date_trunc('day', last at time zone ${timeZone}),
        interval '1 day'
      ) as day
    )
    select
      to_char(days.day, 'YYYY-MM') as month,
      count(*)::integer as days,
      count(*) filter (
        where spans.read @> tstzrange(
          greatest(days.day at time zone ${timeZone}, days.first),
          least((days.day + interval '1 day') at time zone ${timeZone}, days.last), '[]'
        )
      )::integer as "readDays",
      coalesce(sum(held.reviews), 0)::integer as reviews
    from days
    cross join spans
    left join held on held.day = days.day
    group by 1
    order by 1`.execute(db);
  return rows;
}
