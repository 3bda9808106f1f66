-- Twenty thousand orders, each with a line and, as far as the system knows them, a parcel, a payment and a state.
insert into wp_wc_orders (id, status, type, total_amount, customer_id, date_created_gmt, date_updated_gmt, parent_order_id)
  select seq, 'wc-completed', 'shop_order', 1, 7, utc_timestamp() - interval seq minute, utc_timestamp() - interval seq minute, 0 from seq_101_to_20600;
insert into wp_wc_order_addresses (order_id, address_type, first_name) select seq, 'billing', 'Ada' from seq_101_to_20600;
insert into wp_wc_order_operational_data (order_id, date_completed_gmt) select seq, utc_timestamp() - interval seq minute from seq_101_to_20600;
insert into wp_wc_orders_meta (order_id, meta_key, meta_value) select seq, '_wc_order_attribution_device_type', 'Mobile' from seq_101_to_20600;
insert into wp_woocommerce_order_items select seq, 'Mug', 'line_item', seq from seq_101_to_20600;
insert into wp_woocommerce_order_itemmeta (order_item_id, meta_key, meta_value)
  select seq, k.meta_key, '10' from seq_101_to_20600 join (select '_product_id' as meta_key union select '_qty' union select '_line_total' union select 'pa_color') k;
