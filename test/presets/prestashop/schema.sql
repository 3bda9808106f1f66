-- The tables of PrestaShop 8 that the preset reads, declared again from the facts in its README: columns, keys and
-- indexes.
create table ps_orders (
  id_order int unsigned not null auto_increment primary key,
  reference varchar(9),
  id_lang int unsigned not null,
  id_customer int unsigned not null,
  id_address_invoice int unsigned not null,
  current_state int unsigned not null,
  conversion_rate decimal(13, 6) not null default 1,
  total_paid_tax_incl decimal(20, 6) not null default 0,
  invoice_date datetime not null default '0000-00-00 00:00:00',
  delivery_date datetime not null default '0000-00-00 00:00:00',
  date_add datetime not null,
  date_upd datetime not null,
  key reference (reference),
  key id_customer (id_customer),
  key date_add (date_add)
);
create table ps_order_detail (
  id_order_detail int unsigned not null auto_increment primary key,
  id_order int unsigned not null,
  product_id int unsigned not null,
  product_attribute_id int unsigned,
  product_name varchar(255) not null,
  product_quantity int unsigned not null default 0,
  product_quantity_refunded int unsigned not null default 0,
  product_quantity_return int unsigned not null default 0,
  product_reference varchar(32),
  total_price_tax_incl decimal(20, 6) not null default 0,
  key order_detail_order (id_order)
);
create table ps_order_history (
  id_order_history int unsigned not null auto_increment primary key,
  id_employee int unsigned not null default 0,
  id_order int unsigned not null,
  id_order_state int unsigned not null,
  date_add datetime not null,
  key order_history_order (id_order)
);
create table ps_order_state (
  id_order_state int unsigned not null auto_increment primary key,
  shipped tinyint unsigned not null default 0,
  paid tinyint unsigned not null default 0,
  deleted tinyint unsigned not null default 0
);
create table ps_order_slip (
  id_order_slip int unsigned not null auto_increment primary key,
  id_order int unsigned not null,
  total_products_tax_incl decimal(20, 6),
  total_shipping_tax_incl decimal(20, 6),
  amount decimal(10, 2) not null,
  shipping_cost_amount decimal(10, 2) not null,
  date_add datetime not null,
  date_upd datetime not null,
  key id_order (id_order)
);
create table ps_order_return (
  id_order_return int unsigned not null auto_increment primary key,
  id_order int unsigned not null,
  state tinyint unsigned not null default 1,
  date_add datetime not null,
  date_upd datetime not null,
  key id_order (id_order)
);
create table ps_order_carrier (
  id_order_carrier int not null auto_increment primary key,
  id_order int unsigned not null,
  id_carrier int unsigned not null,
  tracking_number varchar(64),
  date_add datetime not null,
  key id_order (id_order)
);
create table ps_carrier (
  id_carrier int unsigned not null auto_increment primary key,
  name varchar(64) not null
);
create table ps_customer (
  id_customer int unsigned not null auto_increment primary key,
  id_default_group int unsigned not null default 1,
  firstname varchar(255) not null,
  lastname varchar(255) not null,
  email varchar(255) not null,
  is_guest tinyint not null default 0,
  deleted tinyint not null default 0
);
create table ps_address (
  id_address int unsigned not null auto_increment primary key,
  phone varchar(32),
  phone_mobile varchar(32)
);
create table ps_product_attribute_combination (
  id_attribute int unsigned not null,
  id_product_attribute int unsigned not null,
  primary key (id_attribute, id_product_attribute),
  key id_product_attribute (id_product_attribute)
);
create table ps_attribute (
  id_attribute int unsigned not null auto_increment primary key,
  id_attribute_group int unsigned not null
);
create table ps_attribute_lang (
  id_attribute int unsigned not null,
  id_lang int unsigned not null,
  name varchar(128) not null,
  primary key (id_attribute, id_lang)
);
create table ps_attribute_group_lang (
  id_attribute_group int unsigned not null,
  id_lang int unsigned not null,
  name varchar(128) not null,
  public_name varchar(64) not null,
  primary key (id_attribute_group, id_lang)
);
create table ps_category (
  id_category int unsigned not null auto_increment primary key,
  id_parent int unsigned not null,
  id_shop_default int unsigned not null default 1,
  level_depth tinyint unsigned not null default 0,
  active tinyint unsigned not null default 0
);
create table ps_category_lang (
  id_category int unsigned not null,
  id_shop int unsigned not null default 1,
  id_lang int unsigned not null,
  name varchar(128) not null,
  primary key (id_category, id_shop, id_lang)
);
create table ps_group_lang (
  id_group int unsigned not null,
  id_lang int unsigned not null,
  name varchar(32) not null,
  primary key (id_group, id_lang)
);
create table ps_configuration (
  id_configuration int unsigned not null auto_increment primary key,
  id_shop_group int unsigned,
  id_shop int unsigned,
  name varchar(254) not null,
  value text,
  key name (name)
);
