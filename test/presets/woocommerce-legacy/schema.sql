-- The tables of WooCommerce without HPOS that the preset reads, declared again from the facts in its README: columns,
-- keys and indexes.
create table wp_options (
  option_id bigint unsigned not null auto_increment primary key,
  option_name varchar(191) not null default '',
  option_value longtext not null,
  unique key option_name (option_name)
);
create table wp_posts (
  ID bigint unsigned not null auto_increment primary key,
  post_date datetime not null default '0000-00-00 00:00:00',
  post_date_gmt datetime not null default '0000-00-00 00:00:00',
  post_status varchar(20) not null default 'publish',
  post_modified datetime not null default '0000-00-00 00:00:00',
  post_modified_gmt datetime not null default '0000-00-00 00:00:00',
  post_parent bigint unsigned not null default 0,
  post_type varchar(20) not null default 'post',
  key type_status_date (post_type, post_status, post_date, ID),
  key post_parent (post_parent)
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
