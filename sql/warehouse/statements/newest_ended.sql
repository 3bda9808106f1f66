-- The newest run of each job that has ended. `distinct on` would read every run. Index: runs_by_start.
with recursive jobs (name) as (
  select min(job) from sync.runs
  union all
  select (select min(job) from sync.runs where job > name) from jobs where name is not null
)
select newest.*
from jobs
cross join lateral (
  select * from sync.run_rows
  where job = name and outcome <> 'abandoned'
  order by "startedAt" desc limit 1
) as newest
order by job
