-- Twenty thousand orders, each with a line and, as far as the system knows them, a parcel, a payment and a state.
insert into customer select n, now() at time zone 'UTC' - n * interval '1 minute', null, 'Ada', 'L', null, 'a@example.com', null from generate_series(101, 20600) n;
insert into "order" select n, now() at time zone 'UTC' - n * interval '1 minute', 'Regular', 'V' || n, 'PaymentSettled', now() at time zone 'UTC' - n * interval '1 minute', n, '{}', 1, 1 from generate_series(101, 20600) n;
insert into order_line select n, now() at time zone 'UTC' - n * interval '1 minute', n, 11, 1, 1, 1, true, '[]', '[]' from generate_series(101, 20600) n;
insert into fulfillment select n, now() at time zone 'UTC' - n * interval '1 minute', 'Shipped', 'T', 'DHL' from generate_series(101, 20600) n;
insert into order_line_reference select n, 'FulfillmentLine', 1, n, n from generate_series(101, 20600) n;
insert into history_entry select n, now() at time zone 'UTC' - n * interval '1 minute', now() at time zone 'UTC' - n * interval '1 minute', 'ORDER_FULFILLMENT_TRANSITION', '{}', 'OrderHistoryEntry', n, null from generate_series(101, 20600) n;
insert into payment select n, now() at time zone 'UTC' - n * interval '1 minute', 1, 'Settled', n from generate_series(101, 20600) n;
insert into refund select n, now() at time zone 'UTC' - n * interval '1 minute', 0, 'Settled', n from generate_series(101, 20600) n;
insert into customer_groups_customer_group select n, 1 from generate_series(101, 20600) n;
