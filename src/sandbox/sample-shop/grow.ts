/**
 * The statement that adds orders to the sample shop, each with one line and one parcel, ordered minute by minute up to
 * two days ago. `G1` is the oldest. Their ids begin at a hundred million.
 */
export function growSampleShop(orders: number): string {
  return `
    insert into shop.orders (order_id, order_no, member_no, buyer_name, buyer_mobile, buyer_email, sales_channel,
      goods_amount, shipping_fee, coupon_discount, points_used, paid_amount, ordered_at, modified_at)
    select 100000000 + n, 'G' || n, m.member_no, 'Grown ' || n, null, null, 'pc_web', 10000, 0, 0, 0, 10000,
      now() - interval '2 days' - (${orders} - n) * interval '1 minute', now() - interval '2 days' - (${orders} - n) * interval '1 minute'
    from generate_series(1, ${orders}) n
    cross join (select min(member_no) as member_no from shop.members) m;

    insert into shop.shipments (shipment_no, order_id, carrier_name, tracking_no, shipped_at, delivered_at, modified_at)
    select o.order_id, o.order_id, 'Carrier', 'T' || o.order_id, o.ordered_at + interval '1 hour', o.ordered_at + interval '1 day',
      o.ordered_at + interval '1 day'
    from shop.orders o where o.order_id > 100000000;

    insert into shop.order_items (order_item_no, order_id, line_no, product_no, shipment_no, unit_price, quantity, item_status, modified_at)
    select o.order_id, o.order_id, 1, p.product_no, o.order_id, 10000, 1, 'N40', o.ordered_at + interval '1 day'
    from shop.orders o cross join (select min(product_no) as product_no from shop.products) p
    where o.order_id > 100000000;

    analyze shop.orders; analyze shop.shipments; analyze shop.order_items`;
}
