-- The state of orders and the catalog: what the service has of the shop, the ids it has there, what waits, and what the
-- shop no longer shows.
create table sync.order_links (
  order_code       text primary key,
  order_id         bigint,
  ordered_at       timestamptz,
  fingerprint      text,
  contact          text check (contact in ('allowed', 'withheld', 'forgotten')),
  sent_fields      text[] not null default '{}',
  user_grade_code  text,
  user_grade_id    bigint,
  waiting_lines    jsonb,
  waiting_since    timestamptz,
  pushed_at        timestamptz,
  failed_pushes    integer not null default 0,
  due_at           timestamptz,
  absent_since     timestamptz,
  lease_owner      text,
  lease_expires_at timestamptz
);
create index order_links_by_creation on sync.order_links (ordered_at, order_code);
create index order_links_by_grade on sync.order_links (user_grade_code) where user_grade_code is not null;
create index order_links_without_grade on sync.order_links (user_grade_code)
  where user_grade_code is not null and user_grade_id is null;
create index order_links_waiting on sync.order_links (order_code) where waiting_lines is not null;
create index order_links_due on sync.order_links (due_at) where due_at is not null;
create index order_links_leased on sync.order_links (order_code) where lease_owner is not null;
create index order_links_absent on sync.order_links (order_code) where absent_since is not null;
comment on table sync.order_links is 'The shop''s orders and their ids at the service. A row exists from just before the first request about an order, or since its rows could not be read.';
comment on column sync.order_links.order_code is 'The shop''s order code.';
comment on column sync.order_links.order_id is 'The service''s id; null until the first response was recorded: the service may hold the order all the same.';
comment on column sync.order_links.ordered_at is 'The shop''s created_at of what was last pushed.';
comment on column sync.order_links.fingerprint is 'Hash of the order with its lines as last pushed; while it is the same the order costs no request. It covers 16 bits of the contact. Null: the order is pushed again when it is next read.';
comment on column sync.order_links.contact is 'Whether requests about the order may carry e-mail address and phone number while it is young. Decided when a push of it first began: withheld by a backfill or a repair, else allowed. Forgotten: forget masked the order, and no request carries them. A run with --with-email sends none of it either. Null: no push has begun.';
comment on column sync.order_links.sent_fields is 'Optional fields of the order that were last sent with a value. One that is empty now is sent as an empty value, so that the service clears it.';
comment on column sync.order_links.user_grade_code is 'The shop''s member grade of the order as last pushed.';
comment on column sync.order_links.user_grade_id is 'The service''s id of that grade as last sent; null: the grade was not linked yet.';
comment on column sync.order_links.waiting_lines is 'Lines whose product the service is not known to have yet, as line code: the shop''s product code. They go by themselves as soon as a review or an order list names the product''s id. Null: none waits.';
comment on column sync.order_links.waiting_since is 'Since when lines of the order wait. Null: none waits.';
comment on column sync.order_links.pushed_at is 'When a push was last recorded.';
comment on column sync.order_links.failed_pushes is 'How many times in a row the order could not be read or pushed.';
comment on column sync.order_links.due_at is 'From then on the order is pushed again although the shop did not change it: it failed, or is to be looked at once more. Null: never.';
comment on column sync.order_links.absent_since is 'Since when the shop does not show the order any more. Null: it does, as far as is known.';
comment on column sync.order_links.lease_owner is 'Whose push of the order has begun and is not recorded: host, process and a random part. Null: none. Otherwise the order is due.';
comment on column sync.order_links.lease_expires_at is 'From then on another process may take the order over. Only the owner of the lease writes the order''s links.';
comment on index sync.order_links_by_creation is 'Pushed orders of a period of creations.';
comment on index sync.order_links_by_grade is 'Orders that carry, or wait for, a member grade.';
comment on index sync.order_links_without_grade is 'Orders whose member grade is not at the service yet.';
comment on index sync.order_links_waiting is 'Orders with lines that wait for a product.';
comment on index sync.order_links_due is 'Orders to push again although the shop did not change them.';
comment on index sync.order_links_leased is 'Orders whose push is not recorded.';
comment on index sync.order_links_absent is 'Orders that the shop does not show any more.';

-- product_id, status and delivered_at are also in content. As columns they have indexes, and the views of bi need no
-- cast.
create table sync.sub_order_links (
  order_code   text not null,
  line_code    text not null,
  sub_order_id bigint,
  content      jsonb not null,
  is_ours      boolean not null,
  ids_before   jsonb,
  linked_at    timestamptz not null default now(),
  product_id   bigint,
  status       text,
  delivered_at timestamptz,
  primary key (order_code, line_code)
);
create index sub_order_links_by_delivery on sync.sub_order_links (delivered_at) where delivered_at is not null;
create index sub_order_links_by_product on sync.sub_order_links (product_id, delivered_at);
comment on table sync.sub_order_links is 'The shop''s order lines and the ids of their sub-orders at the service.';
comment on column sync.sub_order_links.order_code is 'The shop''s order code.';
comment on column sync.sub_order_links.line_code is 'The shop''s line code, unique in its order.';
comment on column sync.sub_order_links.sub_order_id is 'The service''s id; null from just before the sub-order is created until the response is recorded.';
comment on column sync.sub_order_links.content is 'The line as it was last sent, or is being sent.';
comment on column sync.sub_order_links.is_ours is 'Whether review-sync created the sub-order. Only such a one is ever deleted.';
comment on column sync.sub_order_links.ids_before is 'The order''s sub-orders just before the creation was first sent, for as long as it may still be carried out: a sub-order that is not in this list may be ours. Null: it is certain what became of it.';
comment on column sync.sub_order_links.linked_at is 'When the creation of the sub-order was written down.';
comment on column sync.sub_order_links.product_id is 'The service''s product id, taken from content.';
comment on column sync.sub_order_links.status is 'Status of the line, taken from content.';
comment on column sync.sub_order_links.delivered_at is 'When the line was delivered, taken from content; null: not delivered, or the shop''s query has no such date.';
comment on index sync.sub_order_links_by_delivery is 'bi.sub_orders of a period, and the deliveries of a day when they are counted again.';
comment on index sync.sub_order_links_by_product is 'The sub-orders of a product, and its deliveries of a month.';

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
  linked_at       timestamptz not null default now()
);
comment on table sync.user_grade_links is 'The shop''s member grades and the service''s ids.';
comment on column sync.user_grade_links.user_grade_code is 'The shop''s code of the grade.';
comment on column sync.user_grade_links.user_grade_id is 'The service''s id of the grade.';
comment on column sync.user_grade_links.fingerprint is 'Hash of what was last pushed; empty: it was only found or created.';
comment on column sync.user_grade_links.linked_at is 'When the row was last written.';

create table sync.category_links (
  category_code text primary key,
  category_id   bigint not null,
  fingerprint   text not null,
  linked_at     timestamptz not null default now()
);
comment on table sync.category_links is 'The shop''s categories and the service''s ids.';
comment on column sync.category_links.category_code is 'The shop''s code of the category.';
comment on column sync.category_links.category_id is 'The service''s id of the category.';
comment on column sync.category_links.fingerprint is 'Hash of what was last pushed.';
comment on column sync.category_links.linked_at is 'When the row was last written.';
