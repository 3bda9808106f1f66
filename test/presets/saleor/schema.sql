-- The tables and columns of Saleor 3.24 that the preset reads, declared from facts: types, nullability and indexes that
-- matter.
create table account_address (id serial primary key, first_name text not null, last_name text not null, phone text not null);
create table order_order (
  id uuid primary key, number integer not null unique, status text not null, charge_status text not null,
  created_at timestamptz not null, updated_at timestamptz not null, user_id integer, user_email text not null default '',
  billing_address_id integer, shipping_address_id integer, shipping_method_name text,
  total_gross_amount numeric(20, 3) not null, total_charged_amount numeric(20, 3) not null default 0
);
create index on order_order (created_at);
create index on order_order (updated_at);
create table product_product (id integer primary key, name text not null);
create table product_productvariant (id integer primary key, product_id integer not null, sku text);
create table product_category (id integer primary key, parent_id integer, name text not null);
create table order_orderline (
  id uuid primary key, order_id uuid not null, variant_id integer, product_sku text, product_variant_id text,
  variant_name text not null default '', quantity integer not null, total_price_gross_amount numeric(20, 3) not null
);
create index on order_orderline (order_id);
create table order_fulfillment (
  id integer primary key, order_id uuid not null, status text not null, tracking_number text not null default '',
  created_at timestamptz not null
);
create table order_fulfillmentline (id integer primary key, order_line_id uuid not null, fulfillment_id integer not null, quantity integer not null);
create index on order_fulfillmentline (order_line_id);
create table order_orderevent (id serial primary key, order_id uuid not null, date timestamptz not null, type text not null);
create index on order_orderevent (date);
create table payment_payment (id integer primary key, order_id uuid);
create table payment_transaction (id integer primary key, payment_id integer not null, kind text not null, is_success boolean not null, amount numeric(20, 3) not null);
create table payment_transactionitem (id integer primary key, order_id uuid, refunded_value numeric(20, 3) not null default 0);
create index on payment_payment (order_id);
create index on payment_transaction (payment_id);
create index on payment_transactionitem (order_id);
create index on order_orderevent (order_id);

insert into account_address values (1, 'Ada', 'Lovelace', '+44201'), (2, 'Ada', '', '');
insert into product_productvariant values (11, 10, 'SHIRT-M'), (21, 20, null);
insert into product_category values (1, null, 'Apparel'), (2, 1, 'Shirts');
