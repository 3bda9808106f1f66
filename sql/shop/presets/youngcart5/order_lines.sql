-- Youngcart 5: one row for each option of a product that was ordered. Cart and order share a table: 쇼핑 is still a cart,
-- 삭제 was deleted with its order. Extras (io_type 1) belong to the product beside them and are left out; total_price
-- contains them.
select
  l.od_id as order_code,
  l.ct_id as line_code,
  l.it_id as product_code,

  -- All pieces with tax, after the coupon of the product.
  (l.ct_price + l.io_price) * l.ct_qty - l.cp_price as price,

  case l.ct_status
    when '주문' then 'unpaid'
    when '입금' then 'paid'
    when '준비' then 'delivery_preparing'
    when '배송' then 'delivery_started'
    when '완료' then 'delivery_finished'
    when '취소' then 'cancelled'
    when '품절' then 'cancelled'
    when '반품' then 'returned'
    else l.ct_status
  end as status,

  -- The order has one parcel. A date that is not set is 0000-00-00, which counts as empty.
  case when l.ct_status in ('배송', '완료', '반품') then o.od_invoice_time end as delivery_started_at,

  -- The form of an order notes each change of a line as "status|who|when|address". The list of orders and a payment
  -- service do not: then no date of arrival is known. See README.md.
  case
    when l.ct_status = '완료' and locate('완료|', l.ct_history) > 0 then cast(
      substring_index(substring_index(substring_index(l.ct_history, '완료|', -1), '|', 2), '|', -1) as datetime)
  end as delivered_at,

  nullif(o.od_invoice, '') as invoice,
  case when o.od_invoice <> '' then nullif(nullif(o.od_delivery_company, ''), '0') end as delivery_service,

  -- The choice as the shop writes it, such as "색상:블랙 / 사이즈:L". A product without options has none.
  case when l.io_id <> '' then json_object('옵션', l.ct_option) end as product_options
from g5_shop_cart l
join g5_shop_order o on o.od_id = l.od_id
where l.ct_status not in ('쇼핑', '삭제') and l.io_type = 0
