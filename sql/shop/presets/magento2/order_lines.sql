-- Magento 2: one row for each product that was bought. A configurable product or a bundle has rows for its parts as
-- well: those with a parent are left out.
select
  o.increment_id as order_code,
  i.item_id as line_code,

  -- The SKU of the product page: that of the configurable product, not of the size that was bought. If the product was
  -- deleted since, the SKU of the line. For the id, select i.product_id.
  coalesce((select max(p.sku) from catalog_product_entity p where p.entity_id = i.product_id), i.sku) as product_code,

  -- All pieces, after coupons, with tax, in the base currency. Refunds change total_price of the order, not the price
  -- of the line.
  i.base_row_total - coalesce(i.base_discount_amount, 0) + coalesce(i.base_tax_amount, 0)
    + coalesce(i.base_discount_tax_compensation_amount, 0) as price,

  case
    when i.qty_canceled + i.qty_refunded >= i.qty_ordered and i.qty_refunded > 0 then 'returned'
    when i.qty_canceled + i.qty_refunded >= i.qty_ordered or o.state = 'canceled' then 'cancelled'
    when i.qty_shipped + i.qty_canceled + i.qty_refunded >= i.qty_ordered then 'delivery_started'
    when i.qty_invoiced > 0 and exists (select 1 from sales_shipment s where s.order_id = o.entity_id) then 'delivery_preparing'
    when i.qty_invoiced > 0 then 'paid'
    else 'unpaid'
  end as status,

  -- The first parcel with a piece of this line.
  (
    select s.created_at
    from sales_shipment s
    join sales_shipment_item si on si.parent_id = s.entity_id and si.order_item_id = i.item_id
    where s.order_id = o.entity_id
    order by s.created_at
    limit 1
  ) as delivery_started_at,

  -- delivered_at: Magento does not know when a parcel arrives, and the service asks for a review some days after that.
  -- README.md has a column that counts three days for the way.

  -- The number of the first parcel with this line that has one.
  (
    select t.track_number
    from sales_shipment s
    join sales_shipment_item si on si.parent_id = s.entity_id and si.order_item_id = i.item_id
    join sales_shipment_track t on t.parent_id = s.entity_id
    where s.order_id = o.entity_id
    order by t.entity_id
    limit 1
  ) as invoice,
  (
    select t.title
    from sales_shipment s
    join sales_shipment_item si on si.parent_id = s.entity_id and si.order_item_id = i.item_id
    join sales_shipment_track t on t.parent_id = s.entity_id
    where s.order_id = o.entity_id
    order by t.entity_id
    limit 1
  ) as delivery_service,

  -- The choices of a configurable product, such as {"Color": "Red"}.
  (
    select json_objectagg(a.label, a.value)
    from json_table(
      case when json_valid(i.product_options) then i.product_options else '{}' end,
      '$.attributes_info[*]' columns (label varchar(255) path '$.label', value varchar(255) path '$.value')
    ) a
    where a.label is not null
  ) as product_options
from sales_order_item i
join sales_order o on o.entity_id = i.order_id
where i.parent_item_id is null
