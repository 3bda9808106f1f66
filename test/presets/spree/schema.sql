-- The tables and columns of Spree 5.6 that the preset reads, declared from facts: types, nullability and indexes that
-- matter.
create table spree_addresses (id bigint primary key, firstname text, lastname text, phone text, updated_at timestamp(6));
create table spree_orders (
  id bigint primary key, number varchar(32), state text, total numeric(10, 2) not null default 0, payment_total numeric(10, 2) default 0,
  completed_at timestamp, updated_at timestamp(6) not null, user_id bigint, email text, bill_address_id bigint, ship_address_id bigint,
  payment_state text, shipment_state text
);
create unique index on spree_orders (number);
create index on spree_orders (completed_at);
create table spree_variants (id bigint primary key, product_id bigint, sku text not null default '');
create table spree_option_types (id bigint primary key, name varchar(100), presentation varchar(100));
create table spree_option_values (id bigint primary key, option_type_id bigint, name text, presentation text);
create table spree_option_value_variants (variant_id bigint, option_value_id bigint);
create table spree_line_items (
  id bigint primary key, order_id bigint, variant_id bigint, quantity integer not null, price numeric(10, 2) not null,
  adjustment_total numeric(10, 2) default 0, updated_at timestamp(6) not null
);
create index on spree_line_items (order_id);
create table spree_shipping_methods (id bigint primary key, name text);
create table spree_shipments (
  id bigint primary key, order_id bigint, state text, tracking text, shipped_at timestamp, updated_at timestamp(6) not null
);
create table spree_shipping_rates (id bigint primary key, shipment_id bigint, shipping_method_id bigint, selected boolean, cost numeric(8, 2));
create table spree_inventory_units (
  id bigint primary key, line_item_id bigint, shipment_id bigint, state text, quantity integer default 1
);
create index on spree_inventory_units (line_item_id);
create table spree_payments (id bigint primary key, order_id bigint, amount numeric(10, 2) not null, state text);
create table spree_refunds (id bigint primary key, payment_id bigint, amount numeric(10, 2) not null);
create table spree_return_items (id bigint primary key, inventory_unit_id bigint, reception_status text);
create table spree_taxons (id bigint primary key, parent_id bigint, name text not null);
create index on spree_payments (order_id);
create index on spree_refunds (payment_id);
create index on spree_shipping_rates (shipment_id);
create index on spree_return_items (inventory_unit_id);

insert into spree_addresses values (1, 'Ada', 'Lovelace', '+44 20 1', '2020-01-01'), (2, 'Ada', null, null, '2020-01-01');
insert into spree_variants values (11, 10, 'SHIRT-M'), (21, 20, 'MUG');
insert into spree_option_types values (1, 'size', 'Size');
insert into spree_option_values values (1, 1, 'medium', 'M');
insert into spree_option_value_variants values (11, 1);
insert into spree_shipping_methods values (1, 'Courier'), (2, 'Not chosen'), (3, 'Post');
insert into spree_taxons values (1, null, 'Categories'), (2, 1, 'Clothing');
