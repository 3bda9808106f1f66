-- Records that a run begins, by the clock of the warehouse. An existing row stays as it is.
-- $1 jsonb: the run, its rights and its systems, by the names of the type `Run`.
insert into sync.runs (
  id, job, key, started_by, started_at, trigger, allow_removals, first_day, last_day, gaps, contact_max_age_days,
  order_deletes, time_zone, shop, service)
select id, job, key, "startedBy", clock_timestamp(), trigger, "allowRemovals", "from", "to", gaps, "contactMaxAgeDays",
  deletes, "timeZone", shop, service
from jsonb_to_record($1) as run (
  id text, job text, key text, "startedBy" text, trigger text, "allowRemovals" boolean,
  "from" text, "to" text, gaps boolean, "contactMaxAgeDays" double precision, deletes text, "timeZone" text, shop text,
  service text)
on conflict (id) do nothing
