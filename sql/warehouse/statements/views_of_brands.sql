-- The views of bi of some brands, with their columns. $1 text[]: the names of the schemas, bi_<brand>.
select substring(n.nspname from 4) as brand, c.relname as name, obj_description(c.oid, 'pg_class') as comment,
  jsonb_agg(jsonb_build_object('name', a.attname, 'type', format_type(a.atttypid, a.atttypmod),
    'comment', col_description(c.oid, a.attnum)) order by a.attnum) as columns
from pg_namespace n
join pg_class c on c.relnamespace = n.oid and c.relkind = 'v'
join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
where n.nspname = any($1::text[])
group by n.nspname, c.oid, c.relname
order by n.nspname, c.relname
