-- The tables of Shopware 6.6 that the preset reads, declared again from the facts in its README: columns, keys and
-- indexes.
create table `order` (
  id binary(16) not null,
  version_id binary(16) not null,
  state_id binary(16) not null,
  order_number varchar(64),
  currency_factor double,
  billing_address_id binary(16) not null,
  price json not null,
  order_date_time datetime(3) not null,
  amount_total double generated always as (json_unquote(json_extract(price, '$.totalPrice'))) virtual,
  tax_status varchar(255) generated always as (json_unquote(json_extract(price, '$.taxStatus'))) virtual,
  created_at datetime(3) not null,
  updated_at datetime(3),
  primary key (id, version_id),
  key `idx.order_number` (order_number)
);
create table order_customer (
  id binary(16) not null,
  version_id binary(16) not null,
  customer_id binary(16),
  order_id binary(16) not null,
  order_version_id binary(16) not null,
  email varchar(254) not null,
  first_name varchar(255) not null,
  last_name varchar(255) not null,
  customer_number varchar(255),
  primary key (id, version_id),
  key `fk.order_customer.order_id` (order_id, order_version_id)
);
create table customer (
  id binary(16) not null primary key,
  customer_group_id binary(16) not null,
  guest tinyint not null default 0
);
create table order_address (
  id binary(16) not null,
  version_id binary(16) not null,
  phone_number varchar(40),
  primary key (id, version_id)
);
create table order_line_item (
  id binary(16) not null,
  version_id binary(16) not null,
  order_id binary(16) not null,
  order_version_id binary(16) not null,
  product_id binary(16),
  quantity int not null,
  type varchar(255),
  payload json,
  price json not null,
  total_price double generated always as (json_unquote(json_extract(price, '$.totalPrice'))) virtual,
  created_at datetime(3) not null,
  updated_at datetime(3),
  primary key (id, version_id),
  key `fk.order_line_item.order_id` (order_id, order_version_id)
);
create table order_delivery (
  id binary(16) not null,
  version_id binary(16) not null,
  order_id binary(16) not null,
  order_version_id binary(16) not null,
  state_id binary(16) not null,
  shipping_method_id binary(16) not null,
  tracking_codes json not null,
  created_at datetime(3) not null,
  updated_at datetime(3),
  primary key (id, version_id),
  key `fk.order_delivery.order_id` (order_id, order_version_id)
);
create table order_delivery_position (
  id binary(16) not null,
  version_id binary(16) not null,
  order_delivery_id binary(16) not null,
  order_delivery_version_id binary(16) not null,
  order_line_item_id binary(16) not null,
  order_line_item_version_id binary(16) not null,
  primary key (id, version_id),
  key `fk.order_delivery_position.order_line_item_id` (order_line_item_id, order_line_item_version_id)
);
create table order_transaction (
  id binary(16) not null,
  version_id binary(16) not null,
  order_id binary(16) not null,
  order_version_id binary(16) not null,
  state_id binary(16) not null,
  created_at datetime(3) not null,
  updated_at datetime(3),
  primary key (id, version_id),
  key `fk.order_transaction.order_id` (order_id, order_version_id)
);
create table state_machine_state (
  id binary(16) not null primary key,
  technical_name varchar(255) not null,
  state_machine_id binary(16) not null,
  unique key `uniq.technical_name_state_machine` (technical_name, state_machine_id)
);
create table state_machine_history (
  id binary(16) not null primary key,
  referenced_id binary(16) not null,
  referenced_version_id binary(16) not null,
  entity_name varchar(100) not null,
  from_state_id binary(16) not null,
  to_state_id binary(16) not null,
  created_at datetime(3) not null,
  updated_at datetime(3),
  key `idx.state_machine_history.referenced_entity` (referenced_id, referenced_version_id)
);
create table shipping_method_translation (
  shipping_method_id binary(16) not null,
  language_id binary(16) not null,
  name varchar(255),
  primary key (shipping_method_id, language_id)
);
create table product (
  id binary(16) not null,
  version_id binary(16) not null,
  parent_id binary(16),
  product_number varchar(64),
  primary key (id, version_id)
);
create table category (
  id binary(16) not null,
  version_id binary(16) not null,
  parent_id binary(16),
  active tinyint not null default 1,
  visible tinyint not null default 1,
  type varchar(32) not null,
  primary key (id, version_id)
);
create table category_translation (
  category_id binary(16) not null,
  category_version_id binary(16) not null,
  language_id binary(16) not null,
  name varchar(255),
  primary key (category_id, category_version_id, language_id)
);
create table customer_group_translation (
  customer_group_id binary(16) not null,
  language_id binary(16) not null,
  name varchar(255),
  primary key (customer_group_id, language_id)
);
