-- The state of orders and the catalog: what the service has of the shop and under which ids, what waits, which orders a
-- run reads, and what the shop stopped showing.
create table sync.order_links (
  order_code       text primary key,
  order_id         bigint,
  fingerprint      text,
  shop_updated_at  timestamptz,
  first_pushed_at  timestamptz not null default now(),
  pushed_at        timestamptz,
  ordered_at       timestamptz,
  lease_owner      text,
  lease_expires_at timestamptz,
  failures         integer not null default 0,
  contact_hash     text,
  contact_sent     boolean not null default false,
  sent_fields      text[],
  user_grade_code  text,
  user_grade_id    bigint,
  failed_pushes    integer not null default 0,
  retry_at         timestamptz,
  removals_held    boolean not null default false,
  lines_unsure     boolean not null default false,
  removals_wanted  integer not null default 0,
  removals_run     text,
  unseen_creations jsonb not null default '[]'
);
create index order_links_by_creation on sync.order_links (ordered_at, order_code);
create index order_links_by_grade on sync.order_links (user_grade_code) where user_grade_code is not null;
create index order_links_without_grade on sync.order_links (user_grade_code)
  where user_grade_code is not null and user_grade_id is null;
create index order_links_to_retry on sync.order_links (retry_at) where retry_at is not null;
create index order_links_to_remove on sync.order_links (order_code) where removals_wanted > 0 and not removals_held;
create index order_links_held on sync.order_links (order_code) where removals_held;
comment on table sync.order_links is 'The shop''s orders and their ids at the service. A row exists from just before the first request about an order.';
comment on column sync.order_links.order_code is 'The shop''s order code.';
comment on column sync.order_links.order_id is 'The service''s id; null until the first response was recorded: the service may hold the order all the same.';
comment on column sync.order_links.fingerprint is 'Hash of the order with its lines as last pushed; while it is the same the order costs no request. Null: the next run pushes the order again.';
comment on column sync.order_links.shop_updated_at is 'The shop''s updated_at of what was last pushed: an older version is never pushed over it.';
comment on column sync.order_links.first_pushed_at is 'When the order was first tried.';
comment on column sync.order_links.pushed_at is 'When the order was last pushed.';
comment on column sync.order_links.ordered_at is 'The shop''s created_at of what was last pushed; null where that was before this column was there.';
comment on column sync.order_links.lease_owner is 'Who is pushing the order now: host, process and a random part for each attempt. Null: nobody.';
comment on column sync.order_links.lease_expires_at is 'From then on another process may take the order over. Only the owner of the lease writes the order''s links.';
comment on column sync.order_links.failures is 'How many records of the order (itself or lines) became dead letters at the last push. Above 0: an unchanged order does not close its dead letters.';
comment on column sync.order_links.contact_hash is 'Hash of the e-mail address and phone number that the shop had at the last push; null: it had neither, or version 0.1 pushed the order. The text "withheld by 0.1": version 0.1 pushed the order without contact.';
comment on column sync.order_links.contact_sent is 'Whether the service was sent that contact.';
comment on column sync.order_links.sent_fields is 'Optional fields of the order that were last sent with a value. One that is empty now is sent as an empty value, so that the service clears it.';
comment on column sync.order_links.user_grade_code is 'The shop''s member grade of the order as last pushed.';
comment on column sync.order_links.user_grade_id is 'The service''s id of that grade as last sent; null: the grade was not linked yet.';
comment on column sync.order_links.failed_pushes is 'How many pushes of the order have failed one after the other since the shop last changed it.';
comment on column sync.order_links.retry_at is 'From then on the order is pushed again although the shop did not change it: its last push failed, or unseen_creations is not empty. Null: only a change of the order pushes it.';
comment on column sync.order_links.removals_held is 'Whether sub-orders stay at the service whose lines vanished together with far more than usual. They stay until the lines are back or --allow-removals is given.';
comment on column sync.order_links.lines_unsure is 'Whether a push may have changed sub-orders without recording it. Then the contents in sync.sub_order_links may be older than what the service holds, and the next push compares the lines with what the service shows.';
comment on column sync.order_links.removals_wanted is 'How many sub-orders of the order are to be removed because the shop does not show their lines any more; 1 where the shop has deleted the order itself. The last batch of a run removes them, unless the run would remove far more than usual.';
comment on column sync.order_links.removals_run is 'The run that last took note of removals_wanted.';
comment on column sync.order_links.unseen_creations is 'Sub-orders whose creation was sent, and that the service had not shown when the line was sent again, changed its sub-order or was removed; or that it stopped showing: [{lineCode, subOrderId, content, idsBefore}], as in sync.sub_order_links. One that appears within an hour of the last push belongs to no line, and is removed unless it has reviews.';
comment on index sync.order_links_by_creation is 'Pushed orders of a period of creations, for the rescan.';
comment on index sync.order_links_by_grade is 'Orders that carry, or wait for, a member grade.';
comment on index sync.order_links_without_grade is 'Orders whose member grade is not at the service yet.';
comment on index sync.order_links_to_retry is 'Orders to push again although the shop did not change them.';
comment on index sync.order_links_to_remove is 'What the last batch of a run removes.';
comment on index sync.order_links_held is 'Orders of which removals are held back.';

-- product_id, status and delivered_at are in content too. As columns they have indexes, and the views of bi need no cast.
create table sync.sub_order_links (
  order_code   text not null,
  line_code    text not null,
  sub_order_id bigint,
  content      jsonb not null,
  ids_before   jsonb,
  linked_at    timestamptz not null default now(),
  product_id   bigint,
  status       text,
  delivered_at timestamptz,
  primary key (order_code, line_code)
);
create index sub_order_links_by_id on sync.sub_order_links (sub_order_id);
create index sub_order_links_by_delivery on sync.sub_order_links (delivered_at) where delivered_at is not null;
create index sub_order_links_by_product on sync.sub_order_links (product_id);
comment on table sync.sub_order_links is 'The shop''s order lines and the ids of their sub-orders at the service.';
comment on column sync.sub_order_links.order_code is 'The shop''s order code.';
comment on column sync.sub_order_links.line_code is 'The shop''s line code, unique in its order.';
comment on column sync.sub_order_links.sub_order_id is 'The service''s id; null from just before the sub-order is created until the response is recorded.';
comment on column sync.sub_order_links.content is 'The line as it was last pushed, or is being pushed.';
comment on column sync.sub_order_links.ids_before is 'The order''s sub-orders just before this one was created. After a lost response, the new sub-order is the one that is not in this list.';
comment on column sync.sub_order_links.linked_at is 'When the row was written.';
comment on column sync.sub_order_links.product_id is 'The service''s product id, taken from content.';
comment on column sync.sub_order_links.status is 'Status of the line, taken from content.';
comment on column sync.sub_order_links.delivered_at is 'When the line was delivered, taken from content; null: not delivered, or the shop''s query has no such date.';
comment on index sync.sub_order_links_by_id is 'The line of a sub-order.';
comment on index sync.sub_order_links_by_delivery is 'bi.sub_orders of a period.';
comment on index sync.sub_order_links_by_product is 'The sub-orders of a product.';

create table sync.waiting_lines (
  order_code    text not null,
  line_code     text not null,
  product_code  text not null,
  waiting_since timestamptz not null default now(),
  primary key (order_code, line_code)
);
create index waiting_lines_by_product on sync.waiting_lines (product_code);
comment on table sync.waiting_lines is 'Order lines whose product the service is not known to have yet. A line goes by itself as soon as a review, an order list or a webhook names the product''s id.';
comment on column sync.waiting_lines.order_code is 'The shop''s order code.';
comment on column sync.waiting_lines.line_code is 'The shop''s line code.';
comment on column sync.waiting_lines.product_code is 'The shop''s product code, for which sync.product_links has no row.';
comment on column sync.waiting_lines.waiting_since is 'When a push first found that the product id is not known.';
comment on index sync.waiting_lines_by_product is 'Lines that can go once a product''s id is known.';

-- The catalog.
create table sync.product_links (
  product_code text primary key,
  product_id   bigint not null,
  linked_at    timestamptz not null default now()
);
create index product_links_by_id on sync.product_links (product_id);
comment on table sync.product_links is 'The shop''s product codes and the service''s product ids, learned from reviews and order lists.';
comment on column sync.product_links.product_code is 'The shop''s product code.';
comment on column sync.product_links.product_id is 'The service''s product id.';
comment on column sync.product_links.linked_at is 'When the pair was learned or last changed.';
comment on index sync.product_links_by_id is 'The code of a product.';

create table sync.user_grade_links (
  user_grade_code text primary key,
  user_grade_id   bigint not null unique,
  fingerprint     text not null,
  linked_at       timestamptz not null default now(),
  differs         text check (differs in ('not in the shop', 'icon not cleared'))
);
comment on table sync.user_grade_links is 'The shop''s member grades and the service''s ids.';
comment on column sync.user_grade_links.user_grade_code is 'The shop''s code of the grade.';
comment on column sync.user_grade_links.user_grade_id is 'The service''s id of the grade.';
comment on column sync.user_grade_links.fingerprint is 'Hash of what was last pushed.';
comment on column sync.user_grade_links.linked_at is 'When the row was last written.';
comment on column sync.user_grade_links.differs is 'Null: the grade is at the service as in the shop. not in the shop: it was deleted in the shop and is still at the service (review-sync deletes none). icon not cleared: it has no icon in the shop any more, and the service keeps the old one.';

create table sync.category_links (
  category_code text primary key,
  category_id   bigint not null,
  fingerprint   text not null,
  linked_at     timestamptz not null default now(),
  differs       text check (differs in ('not in the shop', 'parent not cleared'))
);
comment on table sync.category_links is 'The shop''s categories and the service''s ids.';
comment on column sync.category_links.category_code is 'The shop''s code of the category.';
comment on column sync.category_links.category_id is 'The service''s id of the category.';
comment on column sync.category_links.fingerprint is 'Hash of what was last pushed.';
comment on column sync.category_links.linked_at is 'When the row was last written.';
comment on column sync.category_links.differs is 'Null: the category is at the service as in the shop. not in the shop: it was deleted in the shop and is still at the service (review-sync deletes none). parent not cleared: it has no parent in the shop any more, and the service keeps the old one.';

-- Which orders a run reads.
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
comment on table sync.shop_queries is 'The shop queries by which the last run read orders.';
comment on column sync.shop_queries.file is 'orders or order_lines.';
comment on column sync.shop_queries.hash is 'SHA-256 of the query without comments and spacing.';
comment on column sync.shop_queries.changed_at is 'When a run first used this query in place of another one: orders that were pushed before were read by the earlier query. Null: the query never changed, or all orders were read again since.';
comment on column sync.shop_queries.seen_at is 'When a run last used the query.';

-- The rescan: orders that the feed of changes missed, and pushed orders that the shop does not show any more.
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
