-- Analysts ask how ratings go with the price.
create or replace view bi.sub_orders as
select
  md5((select order_salt from sync.settings) || l.order_code) as order_key,
  l.product_id,
  p.product_code,
  l.status,
  o.ordered_at,
  l.delivered_at,
  (l.delivered_at at time zone (select time_zone from sync.settings))::date as delivered_on,
  (l.content ->> 'price')::numeric as price
from sync.sub_order_links l
left join sync.order_links o on o.order_code = l.order_code
left join (
  select product_id, max(product_code) as product_code from sync.product_links group by product_id
) p on p.product_id = l.product_id
where l.sub_order_id is not null;
comment on column bi.sub_orders.price is 'What it cost, in whole units of the shop''s currency, as pushed last.';
