-- How far the first push of a shop has come, and which queries the orders were read by.
create table sync.order_walk (
  only_row   boolean primary key default true check (only_row),
  began_at   text not null,
  after_code text not null default '',
  orders     bigint not null default 0,
  updated_at timestamptz not null default now()
);
comment on table sync.order_walk is 'The first push of a shop with a change feed: a walk over all orders by code. No row: no such walk is under way.';
comment on column sync.order_walk.only_row is 'At most one walk is under way.';
comment on column sync.order_walk.began_at is 'The shop''s clock when the walk began, in UTC. Changes since then are read from the feed.';
comment on column sync.order_walk.after_code is 'Every order up to this code was pushed. Empty: none yet.';
comment on column sync.order_walk.orders is 'Orders that the walk has passed.';
comment on column sync.order_walk.updated_at is 'When the walk last moved on.';

create table sync.shop_queries (
  file       text primary key,
  hash       text not null,
  changed_at timestamptz,
  seen_at    timestamptz not null default now()
);
comment on table sync.shop_queries is 'The shop queries that the last run of sync-orders used.';
comment on column sync.shop_queries.file is 'orders, order_lines or changed_orders.';
comment on column sync.shop_queries.hash is 'SHA-256 of the query without comments and spacing.';
comment on column sync.shop_queries.changed_at is 'When a run first used this query instead of another one: orders pushed before were read by the query before it. Null: the query never changed, or all orders were read again since.';
comment on column sync.shop_queries.seen_at is 'When a run last used the query.';
