-- Twenty thousand orders, each with a line and, as far as the system knows them, a parcel, a payment and a state.
insert into order_order select ('10000000-0000-4000-8000-' || lpad(n::text, 12, '0'))::uuid, n, 'fulfilled', 'full', now() at time zone 'UTC' - n * interval '1 minute', now() at time zone 'UTC' - n * interval '1 minute', null, 'a@example.com', 1, 1, 'DHL', 1, 1 from generate_series(101, 20600) n;
insert into order_orderline select ('20000000-0000-4000-8000-' || lpad(n::text, 12, '0'))::uuid, ('10000000-0000-4000-8000-' || lpad(n::text, 12, '0'))::uuid, 11, null, null, '', 1, 1 from generate_series(101, 20600) n;
insert into order_fulfillment select n, ('10000000-0000-4000-8000-' || lpad(n::text, 12, '0'))::uuid, 'fulfilled', 'T', now() at time zone 'UTC' - n * interval '1 minute' from generate_series(101, 20600) n;
insert into order_fulfillmentline select n, ('20000000-0000-4000-8000-' || lpad(n::text, 12, '0'))::uuid, n, 1 from generate_series(101, 20600) n;
insert into order_orderevent (order_id, date, type) select ('10000000-0000-4000-8000-' || lpad(n::text, 12, '0'))::uuid, now() at time zone 'UTC' - n * interval '1 minute', 'placed' from generate_series(101, 20600) n;
insert into payment_payment select n, ('10000000-0000-4000-8000-' || lpad(n::text, 12, '0'))::uuid from generate_series(101, 20600) n;
insert into payment_transaction select n, n, 'refund', true, 0 from generate_series(101, 20600) n;
insert into payment_transactionitem select n, ('10000000-0000-4000-8000-' || lpad(n::text, 12, '0'))::uuid from generate_series(101, 20600) n;
