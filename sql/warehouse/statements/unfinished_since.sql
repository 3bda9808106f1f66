-- The start of the oldest run of a key that began after two others: the newest complete run of the key, and its last
-- run that read dates in another zone than its newest run. Spans that were read in another zone are hours off.
-- $1 text: key. $2 timestamptz: older runs are not continued. Index: runs_by_key.
select min(started_at) as since
from sync.runs
where key = $1
  and started_at >= $2
  and started_at > coalesce((
    select max(started_at) from sync.runs
    where key = $1
      and (outcome = 'done' or (outcome = 'incomplete' and reason is distinct from 'steps-failed')
        or time_zone <> (select time_zone from sync.runs where key = $1 order by started_at desc limit 1))
  ), '-infinity')
