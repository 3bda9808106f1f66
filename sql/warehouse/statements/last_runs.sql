-- The newest runs of all jobs, those that have not ended first. $1 integer: at most so many.
-- Each half reads as many rows of its own index. One sort over both would read every run. Indexes: runs_not_ended,
-- runs_by_time.
select *
from (
  (select * from sync.run_rows where "finishedAt" is null order by "startedAt" desc limit $1)
  union all
  (select * from sync.run_rows where "finishedAt" is not null order by "startedAt" desc limit $1)
) as newest
order by "finishedAt" is null desc, "startedAt" desc
limit $1
