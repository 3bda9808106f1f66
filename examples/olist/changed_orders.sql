-- Olist keeps no time of the last change, but the times of all that an order did: each of them is a change. The
-- estimated delivery is left out, because it lies in the future.
--
-- The columns have no zone. changed_at is given one, so :since has one too and is brought to the columns' zone: the
-- columns themselves stay as they are, and their indexes serve.
select order_id as code, order_purchase_timestamp at time zone 'America/Sao_Paulo' as changed_at
from olist_orders
where order_purchase_timestamp >= :since at time zone 'America/Sao_Paulo'
union all
select order_id, order_approved_at at time zone 'America/Sao_Paulo'
from olist_orders
where order_approved_at >= :since at time zone 'America/Sao_Paulo'
union all
select order_id, order_delivered_carrier_date at time zone 'America/Sao_Paulo'
from olist_orders
where order_delivered_carrier_date >= :since at time zone 'America/Sao_Paulo'
union all
select order_id, order_delivered_customer_date at time zone 'America/Sao_Paulo'
from olist_orders
where order_delivered_customer_date >= :since at time zone 'America/Sao_Paulo'
