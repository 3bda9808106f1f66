-- The tables and columns of Vendure 3 that the preset reads, declared from facts: types, nullability and indexes that
-- matter.
create table customer (
  id serial primary key, "updatedAt" timestamp(6) not null, "deletedAt" timestamp, "firstName" varchar not null, "lastName" varchar not null,
  "phoneNumber" varchar, "emailAddress" varchar not null, "userId" integer
);
create table "user" (id serial primary key, identifier varchar not null);
create table customer_group (id serial primary key, name varchar not null);
create table customer_groups_customer_group ("customerId" integer not null, "customerGroupId" integer not null);
create table "order" (
  id serial primary key, "updatedAt" timestamp(6) not null, type varchar not null default 'Regular', code varchar not null unique, state varchar not null,
  "orderPlacedAt" timestamp, "customerId" integer, "shippingAddress" text not null default '{}',
  "subTotalWithTax" integer not null, "shippingWithTax" integer not null default 0
);
create index on "order" ("orderPlacedAt");
create table product_variant (id serial primary key, "productId" integer, sku varchar not null);
create table order_line (
  id serial primary key, "updatedAt" timestamp(6) not null, "orderId" integer, "productVariantId" integer not null, quantity integer not null,
  "orderPlacedQuantity" integer not null default 0, "listPrice" integer not null, "listPriceIncludesTax" boolean not null,
  adjustments text not null default '[]', "taxLines" text not null default '[]'
);
create index on order_line ("orderId");
create table fulfillment (
  id serial primary key, "updatedAt" timestamp(6) not null, state varchar not null, "trackingCode" varchar not null default '', method varchar not null
);
create table order_line_reference (
  id serial primary key, discriminator varchar not null, quantity integer not null, "orderLineId" integer not null, "fulfillmentId" integer
);
create table history_entry (
  id serial primary key, "createdAt" timestamp(6) not null, "updatedAt" timestamp(6) not null, type varchar not null, data text not null, discriminator varchar not null,
  "orderId" integer, "customerId" integer
);
create table payment (id serial primary key, "updatedAt" timestamp(6) not null, amount integer not null, state varchar not null, "orderId" integer);
create table refund (id serial primary key, "updatedAt" timestamp(6) not null, total integer not null, state varchar not null, "paymentId" integer not null);
create table product_option (id serial primary key, "groupId" integer not null, code varchar not null);
create table product_option_translation (id serial primary key, "languageCode" varchar not null, name varchar not null, "baseId" integer);
create table product_option_group_translation (id serial primary key, "languageCode" varchar not null, name varchar not null, "baseId" integer);
create table product_variant_options_product_option ("productVariantId" integer not null, "productOptionId" integer not null);
create table collection (id serial primary key, "isRoot" boolean not null default false, "isPrivate" boolean not null default false, "parentId" integer);
create table collection_translation (id serial primary key, "languageCode" varchar not null, name varchar not null, "baseId" integer);
create index on "order" ("customerId");
create index on payment ("orderId");
create index on refund ("paymentId");
create index on order_line_reference ("orderLineId");
create index on order_line_reference ("fulfillmentId");
create index on history_entry ("orderId");
create index on history_entry ("customerId");
create index on customer_groups_customer_group ("customerId");
create index on product_variant_options_product_option ("productVariantId");

insert into "user" values (1, 'ada@login');
insert into customer values (7, '2020-01-01', null, 'Ada', 'Lovelace', '+44 20 1', 'ada@example.com', 1), (8, '2020-01-01', null, 'Gus', 'Guest', null, 'gus@example.com', null);
insert into customer_group values (1, 'Gold'), (2, 'Silver');
insert into customer_groups_customer_group values (7, 2), (7, 1);
insert into product_variant values (11, 10, 'SHIRT-M'), (21, 20, 'MUG');
insert into product_option values (1, 1, 'm');
insert into product_option_translation values (1, 'de', 'Mittel', 1), (2, 'en', 'M', 1);
insert into product_option_group_translation values (1, 'de', 'Größe', 1), (2, 'en', 'Size', 1);
insert into product_variant_options_product_option values (11, 1);
insert into collection values (1, true, false, null), (2, false, false, 1), (3, false, true, 2);
insert into collection_translation values (1, 'en', '__root_collection__', 1), (2, 'de', 'Kleidung', 2), (3, 'de', 'Hemden', 3), (4, 'en', 'Shirts', 3);
