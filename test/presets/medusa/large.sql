-- Twenty thousand orders, each with a line and, as far as the system knows them, a parcel, a payment and a state.
insert into customer select 'c' || n, null from generate_series(101, 20600) n;
insert into "order" (id, display_id, email, customer_id, created_at, updated_at) select 'o' || n, n, 'a@example.com', 'c' || n, now() at time zone 'UTC' - n * interval '1 minute', now() at time zone 'UTC' - n * interval '1 minute' from generate_series(101, 20600) n;
insert into order_summary (order_id, totals) select 'o' || n, '{"current_order_total": 1}' from generate_series(101, 20600) n;
insert into order_line_item (id, title, product_id, unit_price) select 'i' || n, 'Shirt', 'p1', 1 from generate_series(101, 20600) n;
insert into order_item (order_id, version, item_id, quantity) select 'o' || n, 1, 'i' || n, 1 from generate_series(101, 20600) n;
insert into order_line_item_adjustment (item_id, amount) select 'i' || n, 1 from generate_series(101, 20600) n;
insert into order_line_item_tax_line (item_id, rate) select 'i' || n, 1 from generate_series(101, 20600) n;
insert into order_transaction (order_id, amount, updated_at) select 'o' || n, 1, now() at time zone 'UTC' - n * interval '1 minute' from generate_series(101, 20600) n;
insert into fulfillment select 'f' || n, now() at time zone 'UTC' - n * interval '1 minute', null, null, now() at time zone 'UTC' - n * interval '1 minute' from generate_series(101, 20600) n;
insert into fulfillment_item (fulfillment_id, line_item_id, quantity) select 'f' || n, 'i' || n, 1 from generate_series(101, 20600) n;
insert into fulfillment_label (fulfillment_id, tracking_number) select 'f' || n, 'T' from generate_series(101, 20600) n;
insert into order_fulfillment select 'o' || n, 'f' || n from generate_series(101, 20600) n;
