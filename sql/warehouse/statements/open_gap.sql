-- Opens a gap. Gaps within it become part of it: it takes over their attempts and the date they were first seen.
-- $1 text: axis. $2, $3 timestamptz: start and end. $4 text: kind. $5 text: reason.
with within as (
  delete from sync.open_gaps where axis = $1 and start_at >= $2 and end_at <= $3
    and (start_at > $2 or end_at < $3)
  returning attempts, first_seen_at
)
insert into sync.open_gaps as known (axis, start_at, end_at, kind, reason, attempts, first_seen_at)
select $1, $2::timestamptz, $3::timestamptz, $4, $5,
  coalesce(max(attempts), 0) + 1, coalesce(min(first_seen_at), now())
from within
on conflict (axis, start_at, end_at) do update set
  kind = excluded.kind, reason = excluded.reason, attempts = known.attempts + 1, last_tried_at = now()
