-- Twenty thousand orders, each with a line and, as far as the system knows them, a parcel, a payment and a state.
insert into ps_orders (id_order, id_lang, id_customer, id_address_invoice, current_state, total_paid_tax_incl, date_add, date_upd)
  select seq, 1, seq, seq, 5, 1, utc_timestamp() - interval seq minute, utc_timestamp() - interval seq minute from seq_101_to_20600;
insert into ps_customer select seq, 3, 'Ada', 'L', 'a@example.com', 0, 0 from seq_101_to_20600;
insert into ps_address select seq, '1', '' from seq_101_to_20600;
insert into ps_order_detail (id_order_detail, id_order, product_id, product_attribute_id, product_name, product_quantity)
  select seq, seq, 1, 1, 'Mug', 1 from seq_101_to_20600;
insert into ps_order_history (id_order, id_order_state, date_add) select seq, 5, utc_timestamp() - interval seq minute from seq_101_to_20600;
insert into ps_order_slip (id_order, amount, shipping_cost_amount, date_add, date_upd) select seq, 0, 0, utc_timestamp() - interval seq minute, utc_timestamp() - interval seq minute from seq_101_to_20600;
insert into ps_order_return (id_order, date_add, date_upd) select seq, utc_timestamp() - interval seq minute, utc_timestamp() - interval seq minute from seq_101_to_20600;
insert into ps_order_carrier (id_order, id_carrier, tracking_number, date_add) select seq, 1, 'T', utc_timestamp() - interval seq minute from seq_101_to_20600;
