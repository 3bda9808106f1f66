-- The tables of WooCommerce 10 that the preset reads, declared again from the facts in its README: columns, keys and
-- indexes.
create table wp_options (
  option_id bigint unsigned not null auto_increment primary key,
  option_name varchar(191) not null default '',
  option_value longtext not null,
  unique key option_name (option_name)
);
create table wp_wc_orders (
  id bigint unsigned not null primary key,
  status varchar(20),
  currency varchar(10),
  type varchar(20),
  tax_amount decimal(26, 8),
  total_amount decimal(26, 8),
  customer_id bigint unsigned,
  billing_email varchar(320),
  date_created_gmt datetime,
  date_updated_gmt datetime,
  parent_order_id bigint unsigned,
  key date_created (date_created_gmt),
  key type_status_date (type, status, date_created_gmt),
  key parent_order_id (parent_order_id),
  key date_updated (date_updated_gmt)
);
create table wp_wc_order_addresses (
  id bigint unsigned not null auto_increment primary key,
  order_id bigint unsigned not null,
  address_type varchar(20),
  first_name text,
  last_name text,
  phone varchar(100),
  key order_id (order_id),
  unique key address_type_order_id (address_type, order_id)
);
create table wp_wc_order_operational_data (
  id bigint unsigned not null auto_increment primary key,
  order_id bigint unsigned,
  date_paid_gmt datetime,
  date_completed_gmt datetime,
  unique key order_id (order_id)
);
create table wp_wc_orders_meta (
  id bigint unsigned not null auto_increment primary key,
  order_id bigint unsigned,
  meta_key varchar(255),
  meta_value text,
  key order_id_meta_key_meta_value (order_id, meta_key(100), meta_value(82))
);
create table wp_woocommerce_order_items (
  order_item_id bigint unsigned not null auto_increment primary key,
  order_item_name text not null,
  order_item_type varchar(200) not null default '',
  order_id bigint unsigned not null,
  key order_id (order_id)
);
create table wp_woocommerce_order_itemmeta (
  meta_id bigint unsigned not null auto_increment primary key,
  order_item_id bigint unsigned not null,
  meta_key varchar(255),
  meta_value longtext,
  key order_item_id (order_item_id),
  key meta_key (meta_key(32))
);
create table wp_woocommerce_attribute_taxonomies (
  attribute_id bigint unsigned not null auto_increment primary key,
  attribute_name varchar(200) not null,
  attribute_label varchar(200),
  key attribute_name (attribute_name(20))
);
create table wp_postmeta (
  meta_id bigint unsigned not null auto_increment primary key,
  post_id bigint unsigned not null default 0,
  meta_key varchar(255),
  meta_value longtext,
  key post_id (post_id),
  key meta_key (meta_key(191))
);
create table wp_terms (
  term_id bigint unsigned not null auto_increment primary key,
  name varchar(200) not null default '',
  slug varchar(200) not null default '',
  key slug (slug(191)),
  key name (name(191))
);
create table wp_term_taxonomy (
  term_taxonomy_id bigint unsigned not null auto_increment primary key,
  term_id bigint unsigned not null default 0,
  taxonomy varchar(32) not null default '',
  parent bigint unsigned not null default 0,
  unique key term_id_taxonomy (term_id, taxonomy),
  key taxonomy (taxonomy)
);
