-- The sessions with an open transaction on tables of ours, the oldest first.
-- State and start of another user's session are null for those who may not see them.
select pid, format('pid %s (%s)', pid, concat_ws(', ',
  'application ' || coalesce(nullif(application_name, ''), 'without a name'), 'user ' || usename, state,
  'transaction since ' || to_char(xact_start at time zone 'UTC', 'YYYY-MM-DD HH24:MI:SS UTC'))) as what
from pg_stat_activity
where pid <> pg_backend_pid() and pid in (
  select l.pid from pg_locks l join pg_class c on c.oid = l.relation
  where l.granted and c.relnamespace::regnamespace::text in ('sync', 'warehouse', 'bi')
    and l.database = (select oid from pg_database where datname = current_database())
)
order by xact_start limit 3
