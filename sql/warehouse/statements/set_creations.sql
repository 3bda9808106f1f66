-- Takes over each date of creation that differs by a second or more from the pushed one. Touches the months of both
-- dates: `export parquet` has the sub-orders of each month in a file. Returns the codes of these orders.
-- $1: [{code, at}].
with moved as (
  update sync.order_links l set ordered_at = g.at
  from (
    select order_code, ordered_at as before, at
    from jsonb_to_recordset($1::jsonb) as g (code text, at timestamptz)
    join sync.order_links on order_code = code
    where order_id is not null and abs(extract(epoch from ordered_at - at)) >= 1
  ) as g
  where l.order_code = g.order_code
  returning l.order_code, g.before, g.at
),
touched as (
  insert into sync.touches (record, dated_at) select 'order', unnest(array[before, at]) from moved
)
select order_code as code from moved
