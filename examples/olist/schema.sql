-- The tables of the "Brazilian E-Commerce Public Dataset by Olist", one for each of its CSV files, spelling included.
-- Times are what a clock in São Paulo showed, without a zone, as the files have them: the shop queries say the zone.
create table olist_customers (
  customer_id              text primary key,
  customer_unique_id       text not null,
  customer_zip_code_prefix text,
  customer_city            text,
  customer_state           text
);

create table olist_orders (
  order_id                      text primary key,
  customer_id                   text not null,
  order_status                  text not null,
  order_purchase_timestamp      timestamp not null,
  order_approved_at             timestamp,
  order_delivered_carrier_date  timestamp,
  order_delivered_customer_date timestamp,
  order_estimated_delivery_date timestamp
);
-- Each branch of changed_orders.sql looks its changes up in one of these.
create index on olist_orders (order_purchase_timestamp);
create index on olist_orders (order_approved_at);
create index on olist_orders (order_delivered_carrier_date);
create index on olist_orders (order_delivered_customer_date);

create table olist_products (
  product_id                 text primary key,
  product_category_name      text,
  product_name_lenght        numeric,
  product_description_lenght numeric,
  product_photos_qty         numeric,
  product_weight_g           numeric,
  product_length_cm          numeric,
  product_height_cm          numeric,
  product_width_cm           numeric,
  service_product_id         bigint unique
);
comment on column olist_products.service_product_id is
  'Not of the data set: the review service''s id of the product, as a shop would keep it beside its own.';

create table olist_order_items (
  order_id            text not null,
  order_item_id       integer not null,
  product_id          text not null,
  seller_id           text,
  shipping_limit_date timestamp,
  price               numeric not null,
  freight_value       numeric not null,
  primary key (order_id, order_item_id)
);

create table olist_order_payments (
  order_id             text not null,
  payment_sequential   integer not null,
  payment_type         text,
  payment_installments integer,
  payment_value        numeric not null,
  primary key (order_id, payment_sequential)
);

create table olist_order_reviews (
  row_no                  integer generated always as identity primary key,
  review_id               text,
  order_id                text not null,
  review_score            smallint,
  review_comment_title    text,
  review_comment_message  text,
  review_creation_date    timestamp not null,
  review_answer_timestamp timestamp
);
create index on olist_order_reviews (order_id);
comment on column olist_order_reviews.row_no is
  'The row''s place in the file. A review_id is no key: some stand beside several orders, and the sample has none.';

create table product_category_name_translation (
  product_category_name         text primary key,
  product_category_name_english text not null
);
