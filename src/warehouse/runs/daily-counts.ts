import { sql } from 'kysely';
import type { Db } from '../index.ts';
import type { Flow } from './cursors.ts';

/** What a flow brought in the last 24 hours, in the 24 before, and so on for 15; null for a day without a run. */
export type DailyCounts = { flow: Flow; days: (number | null)[] };

/** Orders by what the runs pushed; reviews by their creation, as webhooks bring some before the runs do. */
export async function dailyCounts(db: Db, now: Date): Promise<DailyCounts[]> {
  const { rows } = await sql<DailyCounts>`
    with day as (
      select n, ${now}::timestamptz - make_interval(hours => 24 * (n + 1)) as start, ${now}::timestamptz - make_interval(hours => 24 * n) as stop
      from generate_series(0, 14) as n
    ), run as (
      select job, finished_at, coalesce((counts ->> 'orders_pushed')::integer, 0) as orders
      from sync.runs
      where job in ('sync-orders', 'sync-reviews') and outcome in ('done', 'incomplete')
        and started_at >= ${now}::timestamptz - interval '16 days'
    )
    select flow, array_agg(brought order by n) as days
    from day
    cross join (values ('orders'), ('reviews')) as flow (flow)
    cross join lateral (
      select case
        when not exists (select from run where job = 'sync-' || flow and finished_at > start and finished_at <= stop) then null
        when flow = 'orders' then (select sum(orders) from run where finished_at > start and finished_at <= stop)
        else (select count(*) from warehouse.reviews r where r.created_at > start and r.created_at <= stop)
      end::integer as brought
    ) as counted
    group by flow
    order by flow`.execute(db);
  return rows;
}
