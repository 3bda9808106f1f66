-- Spans that were read completely. Spans that touch are joined.
-- $1 text: axis. $2 timestamptz: only spans read since. $3 text: only spans of this run. $4 text: only spans of runs of
-- this job. Null: any.
select lower(span) as start_at, upper(span) as end_at
from (
  select unnest(range_agg(tstzrange(start_at, end_at, '[)'))) as span
  from sync.export_windows
  where axis = $1 and end_at > start_at and started_at >= coalesce($2::timestamptz, '-infinity')
    and run_id = coalesce($3, run_id)
    and ($4::text is null or run_id in (select id from sync.runs where job = $4))
) as spans
order by 1
