-- Twenty thousand orders, each with a line and, as far as the system knows them, a parcel, a payment and a state.
insert into `order` (id, version_id, state_id, order_number, billing_address_id, price, order_date_time, created_at, updated_at)
  select unhex(lpad(seq, 32, '0')), 0x0FA91CE3E96A4BC2BE4BD9CE752C3425, unhex(lpad(1, 32, '0')), seq, unhex(lpad(seq, 32, '0')), '{"totalPrice": 1}', utc_timestamp() - interval seq minute, utc_timestamp() - interval seq minute, utc_timestamp() - interval seq minute from seq_101_to_20600;
insert into order_customer select unhex(lpad(seq, 32, '0')), 0x0FA91CE3E96A4BC2BE4BD9CE752C3425, null, unhex(lpad(seq, 32, '0')), 0x0FA91CE3E96A4BC2BE4BD9CE752C3425, 'a@example.com', 'Ada', 'L', '1' from seq_101_to_20600;
insert into order_address select unhex(lpad(seq, 32, '0')), 0x0FA91CE3E96A4BC2BE4BD9CE752C3425, '1' from seq_101_to_20600;
insert into order_line_item (id, version_id, order_id, order_version_id, quantity, type, payload, price, created_at, updated_at)
  select unhex(lpad(seq, 32, '0')), 0x0FA91CE3E96A4BC2BE4BD9CE752C3425, unhex(lpad(seq, 32, '0')), 0x0FA91CE3E96A4BC2BE4BD9CE752C3425, 1, 'product', '{"productNumber": "M"}', '{"totalPrice": 1}', utc_timestamp() - interval seq minute, utc_timestamp() - interval seq minute from seq_101_to_20600;
insert into order_delivery select unhex(lpad(seq, 32, '0')), 0x0FA91CE3E96A4BC2BE4BD9CE752C3425, unhex(lpad(seq, 32, '0')), 0x0FA91CE3E96A4BC2BE4BD9CE752C3425, unhex(lpad(1, 32, '0')), unhex(lpad(1, 32, '0')), '[]', utc_timestamp() - interval seq minute, utc_timestamp() - interval seq minute from seq_101_to_20600;
insert into order_delivery_position select unhex(lpad(seq, 32, '0')), 0x0FA91CE3E96A4BC2BE4BD9CE752C3425, unhex(lpad(seq, 32, '0')), 0x0FA91CE3E96A4BC2BE4BD9CE752C3425, unhex(lpad(seq, 32, '0')), 0x0FA91CE3E96A4BC2BE4BD9CE752C3425 from seq_101_to_20600;
insert into order_transaction select unhex(lpad(seq, 32, '0')), 0x0FA91CE3E96A4BC2BE4BD9CE752C3425, unhex(lpad(seq, 32, '0')), 0x0FA91CE3E96A4BC2BE4BD9CE752C3425, unhex(lpad(1, 32, '0')), utc_timestamp() - interval seq minute, null from seq_101_to_20600;
insert into state_machine_state values (unhex(lpad(1, 32, '0')), 'shipped', unhex(lpad(1, 32, '0')));
insert into state_machine_history select unhex(lpad(seq, 32, '0')), unhex(lpad(seq, 32, '0')), 0x0FA91CE3E96A4BC2BE4BD9CE752C3425, elt(1 + seq % 3, 'order', 'order_delivery', 'order_transaction'),
  unhex(lpad(1, 32, '0')), unhex(lpad(1, 32, '0')), utc_timestamp() - interval seq minute, null from seq_101_to_20600;
