-- What the process that carries out a run waits for, so that other processes can show it.
alter table sync.runs add wait_reason text, add wait_until timestamptz;
comment on column sync.runs.wait_reason is 'Why the process that carries the run out last waited, without customers'' data. Null: it did not wait yet.';
comment on column sync.runs.wait_until is 'Until when. Past: it waits no more.';

create view sync.run_rows as
select id, job, key, started_by as "startedBy", started_at as "startedAt", finished_at as "finishedAt", outcome, reason, counts,
  error, attended_at as "attendedAt", wait_reason as "waitReason", wait_until as "waitUntil",
  jsonb_build_object('trigger', trigger, 'allowRemovals', allow_removals, 'from', first_day, 'to', last_day, 'gaps', gaps,
    'contactMaxAgeDays', contact_max_age_days, 'deletes', order_deletes) as rights,
  jsonb_build_object('timeZone', time_zone, 'shop', shop, 'service', service) as systems
from sync.runs;
comment on view sync.run_rows is 'sync.runs as the program reads it.';
comment on column sync.run_rows.rights is 'What the run may do.';
comment on column sync.run_rows.systems is 'The zone, the shop and the service that it is for.';
-- The other columns have the comments of those of sync.runs.
do $$
declare
  of_runs record;
begin
  for of_runs in
    select shown.attname as name, col_description(stored.attrelid, stored.attnum) as said
    from pg_attribute stored
    join pg_attribute shown on shown.attrelid = 'sync.run_rows'::regclass
      and lower(shown.attname) = replace(stored.attname, '_', '')
    where stored.attrelid = 'sync.runs'::regclass and stored.attnum > 0
  loop
    execute format('comment on column sync.run_rows.%I is %L', of_runs.name, of_runs.said);
  end loop;
end
$$;

-- While the warehouse is down, no process can see what the others posted. So only one of them is to post.
create table sync.alert_watch (
  is_only    boolean primary key default true check (is_only),
  watcher    text collate "C",
  watched_at timestamptz
);
insert into sync.alert_watch default values;
comment on table sync.alert_watch is 'Which process posts that the warehouse is down. One row.';
comment on column sync.alert_watch.is_only is 'Always true: keeps the table at one row.';
comment on column sync.alert_watch.watcher is 'A random id of the process.';
comment on column sync.alert_watch.watched_at is 'When it last looked. After 90 seconds another process takes its place.';
