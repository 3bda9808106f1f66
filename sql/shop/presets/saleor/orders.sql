-- Saleor: the orders that were placed. See README.md in this folder; docs/presets.md explains how to change a preset.
select
  o.number as code,
  o.created_at,
  -- `total_gross_amount` does not go down by a refund. A cancelled order costs what was charged and not paid back.
  case
    when o.status = 'canceled' then o.total_charged_amount
    else o.total_gross_amount
      - coalesce((select sum(t.refunded_value) from payment_transactionitem t where t.order_id = o.id), 0)
      - coalesce((
        select sum(t.amount)
        from payment_payment p
        join payment_transaction t on t.payment_id = p.id
        where p.order_id = o.id and t.kind = 'refund' and t.is_success
      ), 0)
  end as total_price,
  o.user_id as user_code,
  nullif(btrim(concat_ws(' ', a.first_name, a.last_name)), '') as user_name,
  nullif(a.phone, '') as user_phone,
  nullif(o.user_email, '') as user_email
from order_order o
left join account_address a on a.id = coalesce(o.billing_address_id, o.shipping_address_id)
where o.status not in ('draft', 'unconfirmed', 'expired')
