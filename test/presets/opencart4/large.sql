-- Twenty thousand orders, each with a line and, as far as the system knows them, a parcel, a payment and a state.
insert into oc_customer select seq from seq_101_to_20600;
insert into oc_order select seq, seq, 1, 'Ada', 'L', 'a@example.com', '', 1, 5, utc_timestamp() - interval seq minute, utc_timestamp() - interval seq minute from seq_101_to_20600;
insert into oc_order_product (order_product_id, order_id, product_id, name, model) select seq, seq, 1, 'Mug', 'M' from seq_101_to_20600;
insert into oc_order_option (order_id, order_product_id, name, value, type) select seq, seq, 'Size', 'L', 'select' from seq_101_to_20600;
insert into oc_order_history (order_id, order_status_id, date_added) select seq, 5, utc_timestamp() - interval seq minute from seq_101_to_20600;
insert into oc_return select seq, seq, 1, 1, 3, utc_timestamp() - interval seq minute, utc_timestamp() - interval seq minute from seq_101_to_20600;
