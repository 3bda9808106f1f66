-- The tables and columns of Solidus 4.8 that the preset reads, declared from facts: types, nullability and indexes that
-- matter.
create table spree_addresses (id integer primary key, name text, phone text);
create table spree_orders (
  id serial primary key, number varchar(32), state text, total numeric(10, 2) not null default 0, payment_total numeric(10, 2) default 0,
  completed_at timestamp, created_at timestamp(6), updated_at timestamp(6), user_id integer, email text,
  bill_address_id integer, ship_address_id integer, payment_state text, shipment_state text
);
create index on spree_orders (number);
create index on spree_orders (completed_at);
create table spree_products (id integer primary key, name text not null);
create table spree_variants (id integer primary key, product_id integer, sku text not null default '', is_master boolean);
create table spree_option_types (id integer primary key, name varchar(100), presentation varchar(100));
create table spree_option_values (id integer primary key, option_type_id integer not null, name text, presentation text);
create table spree_option_values_variants (variant_id integer, option_value_id integer);
create table spree_line_items (
  id integer primary key, order_id integer, variant_id integer, quantity integer not null, price numeric(10, 2) not null,
  adjustment_total numeric(10, 2) default 0, updated_at timestamp(6)
);
create index on spree_line_items (order_id);
create table spree_shipping_methods (id integer primary key, name text, carrier text);
create table spree_shipments (
  id integer primary key, order_id integer, state text, tracking text, shipped_at timestamp, updated_at timestamp(6)
);
create index on spree_shipments (order_id);
create table spree_cartons (id integer primary key, tracking text, shipped_at timestamp, shipping_method_id integer);
create table spree_inventory_units (
  id integer primary key, line_item_id integer, variant_id integer, shipment_id integer, carton_id integer, state text
);
create index on spree_inventory_units (line_item_id);
create table spree_payments (id integer primary key, order_id integer, amount numeric(10, 2) not null, state text);
create index on spree_payments (order_id);
create table spree_refunds (id integer primary key, payment_id integer, amount numeric(10, 2) not null, created_at timestamp(6));
create index on spree_refunds (payment_id);
create table spree_return_items (id integer primary key, inventory_unit_id integer, reception_status text);
create table spree_taxons (id integer primary key, parent_id integer, name text not null);

insert into spree_addresses values (1, 'Ada Lovelace', '+44 20 1'), (2, 'Ada King', null);
insert into spree_products values (10, 'Shirt'), (20, 'Mug');
insert into spree_variants values (11, 10, 'SHIRT-M', false), (21, 20, 'MUG', true);
insert into spree_option_types values (1, 'size', 'Size');
insert into spree_option_values values (1, 1, 'medium', 'M');
insert into spree_option_values_variants values (11, 1);
insert into spree_shipping_methods values (1, 'Standard', 'UPS'), (2, 'Express', null);
insert into spree_taxons values (1, null, 'Categories'), (2, 1, 'Clothing');
