-- Takes a proven span out of all gaps of its axis; what is left of a gap stays open.
-- $1 text: axis. $2, $3 timestamptz: start and end of the proven span.
with hit as (
  delete from sync.open_gaps where axis = $1 and start_at < $3 and end_at > $2 returning *
)
insert into sync.open_gaps (axis, start_at, end_at, kind, reason, attempts, first_seen_at, last_tried_at)
select distinct on (lower(rest), upper(rest))
  axis, lower(rest), upper(rest), kind, reason, attempts, first_seen_at, last_tried_at
from hit
cross join lateral unnest(
  tstzmultirange(tstzrange(start_at, end_at)) - tstzmultirange(tstzrange($2, $3))
) as rest
order by lower(rest), upper(rest), first_seen_at
on conflict do nothing
