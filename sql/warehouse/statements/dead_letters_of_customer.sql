-- Dead letters that hold a record. isOwn: it belongs to the customer. The record of an order or a review is in the payload itself
-- or in its field `order` or `review`; a review that Postgres cannot hold as JSON is a text.
-- $1 text: user_code of the customer, which shops pad; null: unknown. $2 text[]: codes of orders. $3 text[]: reasons of dead letters
-- that were masked before.
select id, kind, key, order_code as "orderCode", exists (
  select from unnest(array[payload, payload -> 'order', payload -> 'review']) as record
  where btrim(record ->> 'user_code', E' \t\r\n') = btrim($1::text, E' \t\r\n')
    or btrim(record ->> 'order_code', E' \t\r\n') = any($2::text[])
    or (jsonb_typeof(record) = 'string' and strpos(record::text, $1::text) > 0)
) as "isOwn"
from sync.dead_letters
where kind in ('order', 'order_line', 'review') and reason <> all($3::text[])
order by id
