-- The tables of Magento 2.4 that the preset reads, declared again from the facts in its README: columns, keys and
-- indexes.
create table sales_order (
  entity_id int unsigned not null auto_increment primary key,
  state varchar(32),
  status varchar(32),
  store_id smallint unsigned,
  customer_id int unsigned,
  base_grand_total decimal(20, 4),
  base_total_refunded decimal(20, 4),
  base_total_canceled decimal(20, 4),
  customer_is_guest smallint unsigned,
  billing_address_id int,
  customer_group_id int,
  increment_id varchar(50),
  customer_email varchar(128),
  customer_firstname varchar(128),
  customer_lastname varchar(128),
  created_at timestamp not null default current_timestamp,
  updated_at timestamp not null default current_timestamp on update current_timestamp,
  unique key SALES_ORDER_INCREMENT_ID_STORE_ID (increment_id, store_id),
  key SALES_ORDER_CREATED_AT (created_at),
  key SALES_ORDER_UPDATED_AT (updated_at)
);
create table sales_order_address (
  entity_id int unsigned not null auto_increment primary key,
  parent_id int unsigned,
  lastname varchar(255),
  firstname varchar(255),
  telephone varchar(255),
  address_type varchar(255),
  key SALES_ORDER_ADDRESS_PARENT_ID (parent_id)
);
create table sales_order_item (
  item_id int unsigned not null auto_increment primary key,
  order_id int unsigned not null default 0,
  parent_item_id int unsigned,
  created_at timestamp not null default current_timestamp,
  updated_at timestamp not null default current_timestamp on update current_timestamp,
  product_id int unsigned,
  product_type varchar(255),
  product_options longtext,
  sku varchar(255),
  qty_canceled decimal(12, 4) default 0,
  qty_invoiced decimal(12, 4) default 0,
  qty_ordered decimal(12, 4) default 0,
  qty_refunded decimal(12, 4) default 0,
  qty_shipped decimal(12, 4) default 0,
  base_row_total decimal(20, 4) not null default 0,
  base_tax_amount decimal(20, 4) default 0,
  base_discount_amount decimal(20, 4) default 0,
  base_discount_tax_compensation_amount decimal(20, 4),
  key SALES_ORDER_ITEM_ORDER_ID (order_id)
);
create table sales_order_status_history (
  entity_id int unsigned not null auto_increment primary key,
  parent_id int unsigned not null,
  status varchar(32),
  created_at timestamp not null default current_timestamp,
  key SALES_ORDER_STATUS_HISTORY_PARENT_ID (parent_id),
  key SALES_ORDER_STATUS_HISTORY_CREATED_AT (created_at)
);
create table sales_shipment (
  entity_id int unsigned not null auto_increment primary key,
  order_id int unsigned not null,
  created_at timestamp not null default current_timestamp,
  updated_at timestamp not null default current_timestamp on update current_timestamp,
  key SALES_SHIPMENT_ORDER_ID (order_id),
  key SALES_SHIPMENT_UPDATED_AT (updated_at)
);
create table sales_shipment_item (
  entity_id int unsigned not null auto_increment primary key,
  parent_id int unsigned not null,
  qty decimal(12, 4),
  order_item_id int,
  key SALES_SHIPMENT_ITEM_PARENT_ID (parent_id)
);
create table sales_shipment_track (
  entity_id int unsigned not null auto_increment primary key,
  parent_id int unsigned not null,
  order_id int unsigned not null,
  track_number text,
  title varchar(255),
  created_at timestamp not null default current_timestamp,
  updated_at timestamp not null default current_timestamp on update current_timestamp,
  key SALES_SHIPMENT_TRACK_PARENT_ID (parent_id),
  key SALES_SHIPMENT_TRACK_ORDER_ID (order_id),
  key SALES_SHIPMENT_TRACK_CREATED_AT (created_at)
);
create table sales_creditmemo (
  entity_id int unsigned not null auto_increment primary key,
  order_id int unsigned not null,
  base_grand_total decimal(20, 4),
  created_at timestamp not null default current_timestamp,
  updated_at timestamp not null default current_timestamp on update current_timestamp,
  key SALES_CREDITMEMO_ORDER_ID (order_id),
  key SALES_CREDITMEMO_UPDATED_AT (updated_at)
);
create table catalog_product_entity (
  entity_id int unsigned not null auto_increment primary key,
  sku varchar(64)
);
create table catalog_category_entity (
  entity_id int unsigned not null auto_increment primary key,
  parent_id int unsigned not null default 0,
  level int not null default 0
);
create table catalog_category_entity_varchar (
  value_id int not null auto_increment primary key,
  attribute_id smallint unsigned not null default 0,
  store_id smallint unsigned not null default 0,
  entity_id int unsigned not null default 0,
  value varchar(255),
  unique key CATALOG_CATEGORY_ENTITY_VARCHAR_ENTITY_ID_ATTRIBUTE_ID_STORE_ID (entity_id, attribute_id, store_id)
);
create table catalog_category_entity_int (
  value_id int not null auto_increment primary key,
  attribute_id smallint unsigned not null default 0,
  store_id smallint unsigned not null default 0,
  entity_id int unsigned not null default 0,
  value int,
  unique key CATALOG_CATEGORY_ENTITY_INT_ENTITY_ID_ATTRIBUTE_ID_STORE_ID (entity_id, attribute_id, store_id)
);
create table eav_entity_type (
  entity_type_id smallint unsigned not null auto_increment primary key,
  entity_type_code varchar(50) not null
);
create table eav_attribute (
  attribute_id smallint unsigned not null auto_increment primary key,
  entity_type_id smallint unsigned not null default 0,
  attribute_code varchar(255) not null,
  unique key EAV_ATTRIBUTE_ENTITY_TYPE_ID_ATTRIBUTE_CODE (entity_type_id, attribute_code)
);
create table customer_group (
  customer_group_id int unsigned not null auto_increment primary key,
  customer_group_code varchar(32) not null
);
