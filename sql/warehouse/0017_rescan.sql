-- The rescan: orders that the feed of changes missed, and known orders that the shop no longer shows.
create table sync.missed_orders (
  run_id     text not null,
  order_code text not null,
  found_at   timestamptz not null default now(),
  primary key (run_id, order_code)
);
create index missed_orders_by_time on sync.missed_orders (found_at);
comment on table sync.missed_orders is 'Changed orders that the incremental runs had passed over and a rescan found. Kept for 90 days.';
comment on column sync.missed_orders.run_id is 'The run of rescan-orders that found it.';
comment on column sync.missed_orders.order_code is 'The shop''s order code.';
comment on column sync.missed_orders.found_at is 'When the rescan found it, just before it pushed the order.';
comment on index sync.missed_orders_by_time is 'How many changes were missed in a period.';

create table sync.absent_orders (
  order_code      text primary key,
  ordered_at      timestamptz not null,
  first_missed_at timestamptz not null default now(),
  last_missed_at  timestamptz not null default now(),
  run_id          text not null,
  kept            text
);
create index absent_orders_by_creation on sync.absent_orders (ordered_at);
comment on table sync.absent_orders is 'Orders that were pushed and that the shop no longer shows. A row goes when the shop shows the order again, when the order is deleted at the service, or when the order is older than ORDER_RESCAN_DAYS and there is nothing left to do.';
comment on column sync.absent_orders.order_code is 'The shop''s order code.';
comment on column sync.absent_orders.ordered_at is 'The shop''s created_at of what was last pushed.';
comment on column sync.absent_orders.first_missed_at is 'When a rescan first missed the order since it was last seen or pushed. With ORDER_DELETES=send the order is deleted at the service by a rescan that misses it a day later or more.';
comment on column sync.absent_orders.last_missed_at is 'When a rescan last missed the order.';
comment on column sync.absent_orders.run_id is 'The run of rescan-orders that last missed it.';
comment on column sync.absent_orders.kept is 'Why the order stays at the service although it may be deleted; null: that was not tried yet.';
comment on index sync.absent_orders_by_creation is 'Absent orders of a period of creations.';

create index order_links_by_creation on sync.order_links (ordered_at, order_code);
comment on index sync.order_links_by_creation is 'Pushed orders of a period of creations, for the rescan.';
