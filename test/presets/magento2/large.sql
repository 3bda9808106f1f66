-- Twenty thousand orders, each with a line and, as far as the system knows them, a parcel, a payment and a state.
insert into sales_order (entity_id, state, store_id, base_grand_total, billing_address_id, increment_id, created_at, updated_at)
  select seq, 'complete', 1, 1, seq, lpad(seq, 9, '0'), utc_timestamp() - interval seq minute, utc_timestamp() - interval seq minute from seq_101_to_20600;
insert into sales_order_address (entity_id, parent_id) select seq, seq from seq_101_to_20600;
insert into sales_order_item (item_id, order_id, product_id, sku, qty_ordered, base_row_total) select seq, seq, 1, 'mug', 1, 1 from seq_101_to_20600;
insert into sales_order_status_history (parent_id, created_at) select seq, utc_timestamp() - interval seq minute from seq_101_to_20600;
insert into sales_shipment (entity_id, order_id, created_at, updated_at) select seq, seq, utc_timestamp() - interval seq minute, utc_timestamp() - interval seq minute from seq_101_to_20600;
insert into sales_shipment_item (parent_id, qty, order_item_id) select seq, 1, seq from seq_101_to_20600;
insert into sales_shipment_track (parent_id, order_id, track_number, created_at) select seq, seq, 'T', utc_timestamp() - interval seq minute from seq_101_to_20600;
insert into sales_creditmemo (order_id, created_at, updated_at) select seq, utc_timestamp() - interval seq minute, utc_timestamp() - interval seq minute from seq_101_to_20600;
