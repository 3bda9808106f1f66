-- Youngcart 5 (gnuboard5). README.md says what was checked, and docs/connecting.md what each column means.
select
  o.od_id as code,

  -- All dates are in Korean time: SHOP_TIME_ZONE=Asia/Seoul.
  o.od_time as created_at,

  -- What the customer pays in money: after coupons, points, cancelled lines and refunds.
  o.od_cart_price + o.od_send_cost + o.od_send_cost2
    - o.od_cart_coupon - o.od_coupon - o.od_send_coupon - o.od_receipt_point - o.od_cancel_price - o.od_refund_price
    as total_price,

  -- Empty: a guest.
  nullif(o.mb_id, '') as user_code,
  nullif(o.od_name, '') as user_name,
  -- A member who left or was deleted gets no message: the member's row stays, with a leaving date or a memo.
  case when o.mb_id = '' or m.mb_id is not null then coalesce(nullif(o.od_hp, ''), nullif(o.od_tel, '')) end as user_phone,
  case when o.mb_id = '' or m.mb_id is not null then nullif(o.od_email, '') end as user_email,
  case when o.od_mobile = 1 then 'mobile' else 'pc' end as order_device,
  o.od_receipt_point as mileage
from g5_shop_order o
left join g5_member m on m.mb_id = o.mb_id and m.mb_leave_date = '' and m.mb_memo not like '________ 삭제함%'
