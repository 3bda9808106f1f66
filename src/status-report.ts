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

/** By calendar month in the service's zone, from the oldest to the newest of what was read or is held. */
async function coverage(db: Db, timeZone: string): Promise<MonthCoverage[]> {
  const { rows } = await sql<MonthCoverage>`
    with spans as (
      select range_agg(tstzrange(start_at, end_at, '[]')) as read
      from sync.export_windows where axis = 'created'
    ),
    held as (
      select date_trunc('day', created_at at time zone ${timeZone}) as day, count(*)::integer as reviews
      from warehouse.reviews where deleted_at is null group by 1
    ),
    bounds as (
      select
        least((select min(day) from held), date_trunc('day', lower(read) at time zone ${timeZone})) as first,
        greatest((select max(day) from held), date_trunc('day', upper(read) at time zone ${timeZone})) as last
      from spans
    )
    select
      to_char(days.day, 'YYYY-MM') as month,
      count(*)::integer as days,
      count(*) filter (
        where spans.read && tstzrange(
          greatest(days.day, bounds.first) at time zone ${timeZone},
          (days.day + interval '1 day') at time zone ${timeZone}
        )
      )::integer as "readDays",
      coalesce(sum(held.reviews), 0)::integer as reviews
    from bounds
    cross join spans
    cross join lateral generate_series(bounds.first, bounds.last, interval '1 day') as days (day)
    left join held on held.day = days.day
    group by 1
    order by 1`.execute(db);
  return rows;
}
