-- Dead letters that hold a record. isOwn: the record belongs to the customer. The payload is the record of an order or
-- a review, or has it in its field `order` or `review`. A review that Postgres cannot hold as JSON is a text.
-- $1 text: the customer's user_code, which shops pad; null: unknown. $2 text[]: codes of orders. $3 text[]: dead
-- letters with these reasons are masked already, and left out.
select id, kind, key, order_code as "orderCode", exists (
  select from unnest(array[payload, payload -> 'order', payload -> 'review']) as record
  where btrim(record ->> 'user_code', E' \t\r\n') = btrim($1::text, E' \t\r\n')
    or btrim(record ->> 'order_code', E' \t\r\n') = any($2::text[])
    or (jsonb_typeof(record) = 'string' and strpos(record::text, $1::text) > 0)
) as "isOwn"
from sync.dead_letters
where kind in ('order', 'order_line', 'review') and reason <> all($3::text[])
order by id
