-- The sessions with an open transaction on tables of ours, the oldest first.
select pid, format('pid %s (application %s, user %s, %s, transaction since %s)', pid,
  coalesce(nullif(application_name, ''), 'without a name'), usename, state,
  to_char(xact_start at time zone 'UTC', 'YYYY-MM-DD HH24:MI:SS UTC')) as what
from pg_stat_activity
where pid <> pg_backend_pid() and pid in (
  select l.pid from pg_locks l join pg_class c on c.oid = l.relation
  where l.granted and c.relnamespace::regnamespace::text in ('sync', 'warehouse', 'bi')
    and l.database = (select oid from pg_database where datname = current_database())
)
order by xact_start limit 3
