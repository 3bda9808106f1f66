-- The sessions that hold locks which review-sync needs, with a description; three at most.
-- $1 integer: sessions for which statements of review-sync have waited for so many seconds, the one that blocks most
-- first.
-- Null: sessions with an open transaction on tables of ours, the oldest first.
-- A user without the right to see other users' sessions gets null for their state and start.
with waiting as (
  select pid, pg_blocking_pids(pid) as blockers from pg_stat_activity
  where application_name in ('review-sync', 'review-sync queue') and datname = current_database() and wait_event_type = 'Lock'
    and query_start < clock_timestamp() - make_interval(secs => $1::integer)
),
found as (
  select unnest(blockers) as pid, count(*) as blocked from waiting group by 1
  union all
  select distinct l.pid, 0 from pg_locks l join pg_class c on c.oid = l.relation
  where $1::integer is null and l.granted and c.relnamespace in (to_regnamespace('sync'), to_regnamespace('warehouse'), to_regnamespace('bi'))
    and l.database = (select oid from pg_database where datname = current_database())
)
select pid, format('pid %s (%s)', pid, concat_ws(', ',
  'application ' || coalesce(nullif(application_name, ''), 'without a name'), 'user ' || usename, state,
  'transaction since ' || to_char(xact_start at time zone 'UTC', 'YYYY-MM-DD HH24:MI:SS UTC'))) as what
from pg_stat_activity
join found using (pid)
where pid <> pg_backend_pid() and pid not in (select pid from waiting)
order by blocked desc, xact_start, pid limit 3
