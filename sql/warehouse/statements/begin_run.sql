-- Records that a run begins, by the clock of the warehouse. A row that has not ended stays as it is; a scheduled run that has ended begins once more.
-- $1 jsonb: the run, its rights and its systems, by the names of the type `Run`.
insert into sync.runs as known (
  id, job, key, started_by, started_at, trigger, allow_removals, first_day, last_day, gaps, contact_max_age_days,
  order_deletes, time_zone, shop, service)
select id, job, key, "startedBy", clock_timestamp(), trigger, "allowRemovals", "from", "to", gaps, "contactMaxAgeDays",
  deletes, "timeZone", shop, service
from jsonb_to_record($1) as run (
  id text, job text, key text, "startedBy" text, trigger text, "allowRemovals" boolean,
  "from" text, "to" text, gaps boolean, "contactMaxAgeDays" double precision, deletes text, "timeZone" text, shop text,
  service text)
on conflict (id) do update set started_at = excluded.started_at, trigger = excluded.trigger,
  allow_removals = excluded.allow_removals, contact_max_age_days = excluded.contact_max_age_days,
  order_deletes = excluded.order_deletes, time_zone = excluded.time_zone, shop = excluded.shop,
  service = excluded.service, attended_at = null, wait_reason = null, wait_until = null,
  finished_at = null, outcome = null, reason = null, error = null, counts = '{}'
where known.finished_at is not null and known.started_by = 'schedule'
