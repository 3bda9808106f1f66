-- Orders that were pushed before a query or its time zone changed stay as they were read then: status says so.
alter table sync.settings add orders_queries text collate "C", add queries_changed_at timestamptz;
comment on column sync.settings.orders_queries is 'Hash of orders.sql, order_lines.sql and, where it counts, SHOP_TIME_ZONE, as of the newest sync or backfill of orders. Null: there was none.';
comment on column sync.settings.queries_changed_at is 'When a run first found that they had changed. Null: they have not since all orders were read.';
