-- The tables and columns of Vendure 3 on MySQL and MariaDB that the preset reads, declared from facts: types,
-- nullability and indexes that matter.
create table customer (
  id int auto_increment primary key, `updatedAt` datetime(6) not null, `deletedAt` datetime(6), `firstName` varchar(255) not null, `lastName` varchar(255) not null,
  `phoneNumber` varchar(255), `emailAddress` varchar(255) not null, `userId` integer
);
create table `user` (id int auto_increment primary key, identifier varchar(255) not null);
create table customer_group (id int auto_increment primary key, name varchar(255) not null);
create table customer_groups_customer_group (`customerId` integer not null, `customerGroupId` integer not null);
create table `order` (
  id int auto_increment primary key, `updatedAt` datetime(6) not null, type varchar(255) not null default 'Regular', code varchar(255) not null unique, state varchar(255) not null,
  `orderPlacedAt` datetime(6), `customerId` integer, `shippingAddress` text not null,
  `subTotalWithTax` integer not null, `shippingWithTax` integer not null default 0
);
create index i_order_orderPlacedAt on `order` (`orderPlacedAt`);
create table product_variant (id int auto_increment primary key, `productId` integer, sku varchar(255) not null);
create table order_line (
  id int auto_increment primary key, `updatedAt` datetime(6) not null, `orderId` integer, `productVariantId` integer not null, quantity integer not null,
  `orderPlacedQuantity` integer not null default 0, `listPrice` integer not null, `listPriceIncludesTax` boolean not null,
  adjustments text not null, `taxLines` text not null
);
create index i_order_line_orderId on order_line (`orderId`);
create table fulfillment (
  id int auto_increment primary key, `updatedAt` datetime(6) not null, state varchar(255) not null, `trackingCode` varchar(255) not null default '', method varchar(255) not null
);
create table order_line_reference (
  id int auto_increment primary key, discriminator varchar(255) not null, quantity integer not null, `orderLineId` integer not null, `fulfillmentId` integer
);
create table history_entry (
  id int auto_increment primary key, `createdAt` datetime(6) not null, `updatedAt` datetime(6) not null, type varchar(255) not null, data text not null, discriminator varchar(255) not null,
  `orderId` integer, `customerId` integer
);
create table payment (id int auto_increment primary key, `updatedAt` datetime(6) not null, amount integer not null, state varchar(255) not null, `orderId` integer);
create table refund (id int auto_increment primary key, `updatedAt` datetime(6) not null, total integer not null, state varchar(255) not null, `paymentId` integer not null);
create table product_option (id int auto_increment primary key, `groupId` integer not null, code varchar(255) not null);
create table product_option_translation (id int auto_increment primary key, `languageCode` varchar(255) not null, name varchar(255) not null, `baseId` integer);
create table product_option_group_translation (id int auto_increment primary key, `languageCode` varchar(255) not null, name varchar(255) not null, `baseId` integer);
create table product_variant_options_product_option (`productVariantId` integer not null, `productOptionId` integer not null);
create table collection (id int auto_increment primary key, `isRoot` boolean not null default false, `isPrivate` boolean not null default false, `parentId` integer);
create table collection_translation (id int auto_increment primary key, `languageCode` varchar(255) not null, name varchar(255) not null, `baseId` integer);
create index i_order_customerId on `order` (`customerId`);
create index i_payment_orderId on payment (`orderId`);
create index i_refund_paymentId on refund (`paymentId`);
create index i_order_line_reference_orderLineId on order_line_reference (`orderLineId`);
create index i_order_line_reference_fulfillmentId on order_line_reference (`fulfillmentId`);
create index i_history_entry_orderId on history_entry (`orderId`);
create index i_history_entry_customerId on history_entry (`customerId`);
create index i_customer_groups_customer_group_customerId on customer_groups_customer_group (`customerId`);
create index i_product_variant_options_product_option_productVariantId on product_variant_options_product_option (`productVariantId`);

insert into `user` values (1, 'ada@login');
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
