-- Twenty thousand orders, each with a line and, as far as the system knows them, a parcel, a payment and a state.
insert into wp_posts (ID, post_type, post_status, post_date_gmt, post_modified_gmt) select seq, 'shop_order', 'wc-completed', utc_timestamp() - interval seq minute, utc_timestamp() - interval seq minute from seq_101_to_20600;
insert into wp_postmeta (post_id, meta_key, meta_value)
  select seq, k.meta_key, '1' from seq_101_to_20600 join (select '_order_total' as meta_key union select '_customer_user' union select '_date_completed') k;
insert into wp_woocommerce_order_items select seq, 'Mug', 'line_item', seq from seq_101_to_20600;
insert into wp_woocommerce_order_itemmeta (order_item_id, meta_key, meta_value)
  select seq, k.meta_key, '10' from seq_101_to_20600 join (select '_product_id' as meta_key union select '_qty' union select '_line_total' union select 'pa_color') k;
