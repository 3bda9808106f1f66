-- The sessions for which statements of review-sync have waited for so long, the one that blocks most first. $1 integer: seconds.
-- State and start of another user's session are null for those who may not see them.
with waiting as (
  select pid, pg_blocking_pids(pid) as blockers from pg_stat_activity
  where application_name = 'review-sync' and datname = current_database() and wait_event_type = 'Lock'
    and query_start < clock_timestamp() - make_interval(secs => $1)
)
select format('pid %s (%s)', pid, concat_ws(', ',
  'application ' || coalesce(nullif(application_name, ''), 'without a name'), 'user ' || usename, state,
  'transaction since ' || to_char(xact_start at time zone 'UTC', 'YYYY-MM-DD HH24:MI:SS UTC'))) as holder
from pg_stat_activity
join (select unnest(blockers) as pid, count(*) as blocked from waiting group by 1) as blocking using (pid)
where pid not in (select pid from waiting)
order by blocked desc, pid limit 3
