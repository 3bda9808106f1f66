-- Twenty thousand orders, each with a line and, as far as the system knows them, a parcel, a payment and a state.
insert into spree_orders select n, 'R' || n, 'complete', 1, 1, now() at time zone 'UTC' - n * interval '1 minute', now() at time zone 'UTC' - n * interval '1 minute', 7, 'a@example.com', 1, 1, 'paid', 'shipped' from generate_series(101, 20600) n;
insert into spree_line_items select n, n, 11, 1, 1, 0, now() at time zone 'UTC' - n * interval '1 minute' from generate_series(101, 20600) n;
insert into spree_shipments select n, n, 'shipped', 'T', now() at time zone 'UTC' - n * interval '1 minute', now() at time zone 'UTC' - n * interval '1 minute' from generate_series(101, 20600) n;
insert into spree_shipping_rates select n, n, 1, true, 0 from generate_series(101, 20600) n;
insert into spree_inventory_units select n, n, n, 'shipped', 1 from generate_series(101, 20600) n;
insert into spree_payments select n, n, 1, 'completed' from generate_series(101, 20600) n;
insert into spree_refunds select n, n, 0 from generate_series(101, 20600) n;
insert into spree_return_items select n, n, 'cancelled' from generate_series(101, 20600) n;
