-- The tables of OpenCart 3.0.4 that the preset reads, declared again from the facts in its README: columns, keys and
-- indexes.
create table oc_order (
  order_id int not null auto_increment primary key,
  customer_id int not null default 0,
  customer_group_id int not null default 0,
  firstname varchar(32) not null,
  lastname varchar(32) not null,
  email varchar(96) not null,
  telephone varchar(32) not null,
  total decimal(15, 4) not null default 0,
  order_status_id int not null default 0,
  date_added datetime not null,
  date_modified datetime not null
);
create table oc_customer (
  customer_id int not null auto_increment primary key
);
create table oc_order_product (
  order_product_id int not null auto_increment primary key,
  order_id int not null,
  product_id int not null,
  name varchar(255) not null,
  model varchar(64) not null,
  quantity int not null default 1,
  price decimal(15, 4) not null default 0,
  total decimal(15, 4) not null default 0,
  tax decimal(15, 4) not null default 0,
  key order_id (order_id)
);
create table oc_order_option (
  order_option_id int not null auto_increment primary key,
  order_id int not null,
  order_product_id int not null,
  name varchar(255) not null,
  value text not null,
  type varchar(32) not null
);
create table oc_order_history (
  order_history_id int not null auto_increment primary key,
  order_id int not null,
  order_status_id int not null default 0,
  date_added datetime not null
);
create table oc_order_status (
  order_status_id int not null auto_increment,
  language_id int not null,
  name varchar(32) not null,
  primary key (order_status_id, language_id)
);
create table oc_return (
  return_id int not null auto_increment primary key,
  order_id int not null default 0,
  product_id int not null default 0,
  quantity int not null default 0,
  return_status_id int not null default 0,
  date_added datetime not null,
  date_modified datetime not null
);
create table oc_category (
  category_id int not null auto_increment primary key,
  parent_id int not null default 0,
  status tinyint not null default 0
);
create table oc_category_description (
  category_id int not null,
  language_id int not null,
  name varchar(255) not null,
  primary key (category_id, language_id)
);
create table oc_customer_group_description (
  customer_group_id int not null,
  language_id int not null,
  name varchar(32) not null,
  primary key (customer_group_id, language_id)
);
create table oc_setting (
  setting_id int not null auto_increment primary key,
  store_id int not null default 0,
  code varchar(128) not null,
  `key` varchar(128) not null,
  value text not null
);
