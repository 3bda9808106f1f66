-- Twenty thousand orders, each with a line and, as far as the system knows them, a parcel, a payment and a state.
insert into g5_shop_order (od_id, mb_id, od_time, od_receipt_time, od_invoice_time) select seq, seq, utc_timestamp() - interval seq minute, utc_timestamp() - interval seq minute, utc_timestamp() - interval seq minute from seq_101_to_20600;
insert into g5_member (mb_id) select seq from seq_101_to_20600;
insert into g5_shop_cart (od_id, it_id, ct_status, ct_history, ct_qty) select seq, '1', '완료', '', 1 from seq_101_to_20600;
