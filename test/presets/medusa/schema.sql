-- The tables and columns of Medusa 2.11 that the preset reads, declared from facts: types, nullability and indexes that
-- matter.
create table order_address (id text primary key, first_name text, last_name text, phone text);
create table "order" (
  id text primary key, display_id serial, version integer not null default 1, status text not null default 'pending',
  is_draft_order boolean not null default false, email text, customer_id text, currency_code text not null default 'eur',
  billing_address_id text, shipping_address_id text,
  created_at timestamptz not null, updated_at timestamptz not null, canceled_at timestamptz, deleted_at timestamptz
);
create index on "order" (display_id) where deleted_at is null;
create table order_summary (
  id serial primary key, order_id text not null, version integer not null default 1, totals jsonb not null, deleted_at timestamptz
);
create table order_line_item (
  id text primary key, title text not null, product_id text, variant_sku text, variant_title text, variant_option_values jsonb,
  unit_price numeric not null, is_tax_inclusive boolean not null default false
);
create table order_item (
  id serial primary key, order_id text not null, version integer not null, item_id text not null, unit_price numeric, quantity numeric not null,
  fulfilled_quantity numeric not null default 0, shipped_quantity numeric not null default 0, delivered_quantity numeric not null default 0,
  return_requested_quantity numeric not null default 0, return_received_quantity numeric not null default 0,
  return_dismissed_quantity numeric not null default 0, deleted_at timestamptz
);
create table order_line_item_adjustment (
  id serial primary key, item_id text not null, version integer not null default 1, amount numeric not null, deleted_at timestamptz
);
create table order_line_item_tax_line (id serial primary key, item_id text not null, rate numeric not null, deleted_at timestamptz);
create table order_transaction (
  id serial primary key, order_id text not null, version integer not null default 1, amount numeric not null,
  updated_at timestamptz not null, deleted_at timestamptz
);
create table fulfillment (
  id text primary key, shipped_at timestamptz, delivered_at timestamptz, canceled_at timestamptz, updated_at timestamptz not null, deleted_at timestamptz
);
create table fulfillment_item (id serial primary key, fulfillment_id text not null, line_item_id text, quantity numeric not null, deleted_at timestamptz);
create table fulfillment_label (id serial primary key, fulfillment_id text not null, tracking_number text not null, deleted_at timestamptz);
create table order_fulfillment (order_id text not null, fulfillment_id text not null);
create table customer (id text primary key, deleted_at timestamptz);
create table customer_group (id text primary key, name text not null, deleted_at timestamptz);
create table customer_group_customer (
  id text primary key, customer_id text not null, customer_group_id text not null, created_at timestamptz not null, deleted_at timestamptz
);
create table product_category (
  id text primary key, name text not null, parent_category_id text, is_active boolean not null, is_internal boolean not null, deleted_at timestamptz
);
create index on order_summary (order_id, version) where deleted_at is null;
create index on order_item (order_id, version) where deleted_at is null;
create index on order_transaction (order_id) where deleted_at is null;
create index on order_line_item_adjustment (item_id) where deleted_at is null;
create index on order_line_item_tax_line (item_id) where deleted_at is null;
create index on fulfillment_item (line_item_id) where deleted_at is null;
create index on fulfillment_label (fulfillment_id) where deleted_at is null;
create index on order_fulfillment (order_id);
create index on order_fulfillment (fulfillment_id);
create index on customer_group_customer (customer_id);

insert into order_address values ('a1', 'Ada', 'Lovelace', ''), ('a2', 'Ada', null, '+44 20 1');
insert into customer values ('cus_1', null);
insert into customer_group values ('g1', 'Gold', null), ('g2', 'Silver', null), ('g3', 'Gone', '2020-01-01');
insert into customer_group_customer values
  ('x1', 'cus_1', 'g3', '2020-01-01'), ('x2', 'cus_1', 'g1', '2020-01-02'), ('x3', 'cus_1', 'g2', '2020-01-03');
insert into product_category values ('c1', 'Clothing', null, true, false, null), ('c2', 'Shirts', 'c1', true, true, null), ('c3', 'Old', null, true, false, '2020-01-01');
