-- The newest runs of all jobs, those that have not ended first. $1 integer: at most so many.
-- Each half reads as many rows of its own index. One sort over both would read every run. Indexes: runs_not_ended,
-- runs_by_time.
select @run_columns
from (
  (select * from sync.runs where finished_at is null order by started_at desc limit $1)
  union all
  (select * from sync.runs where finished_at is not null order by started_at desc limit $1)
) as newest
order by finished_at is null desc, started_at desc
limit $1
