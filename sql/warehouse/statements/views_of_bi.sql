-- The views of bi: their columns, and a hash of the columns and of the query behind them.
select name, columns, md5(query || columns::text) as definition
from (
  select c.relname as name, pg_get_viewdef(c.oid) as query,
    jsonb_agg(jsonb_build_object('name', a.attname, 'type', a.atttypid::regtype) order by a.attnum) as columns
  from pg_class c
  join pg_attribute a on a.attrelid = c.oid and a.attnum > 0
  where c.relnamespace = to_regnamespace('bi') and c.relkind = 'v'
  group by c.oid, c.relname
) as views
