-- The sample shop's own tables: a shop's way of keeping things, not review-sync's.
-- What review-sync reads of them is said by sql/shop/*.sql.
create schema shop;
comment on schema shop is 'A made-up Korean shop for fashion, beauty and home: sample data of review-sync.';

create table shop.member_grades (
  grade_code       varchar(20) primary key,
  grade_name       varchar(50) not null,
  min_purchase     integer not null,
  discount_percent smallint not null,
  badge_file       varchar(100)
);

create table shop.members (
  member_no  bigint primary key,
  login_id   varchar(40) not null unique,
  real_name  varchar(50) not null,
  mobile     varchar(20) not null,
  email      varchar(100) not null,
  grade_code varchar(20) not null references shop.member_grades,
  joined_at  timestamptz not null
);

create table shop.categories (
  category_no integer primary key,
  parent_no   integer references shop.categories,
  title       varchar(100) not null,
  is_open     boolean not null
);

create table shop.products (
  product_no    bigint primary key,
  product_code  varchar(20) not null unique,
  product_name  varchar(200) not null,
  english_name  varchar(200) not null,
  category_no   integer not null references shop.categories,
  selling_price integer not null,
  released_at   timestamptz not null
);

create table shop.stores (
  store_no   integer primary key,
  store_name varchar(50) not null
);

create table shop.orders (
  order_id        bigint primary key,
  order_no        varchar(24) not null unique,
  member_no       bigint references shop.members,
  buyer_name      varchar(50) not null,
  buyer_mobile    varchar(20),
  buyer_email     varchar(100),
  sales_channel   varchar(20) not null check (sales_channel in ('pc_web', 'mobile_web', 'app', 'store')),
  store_no        integer references shop.stores,
  goods_amount    integer not null,
  shipping_fee    integer not null,
  coupon_discount integer not null,
  points_used     integer not null,
  paid_amount     integer not null,
  ordered_at      timestamptz not null,
  modified_at     timestamptz not null,
  removed_at      timestamptz
);
create index on shop.orders (ordered_at);
create index on shop.orders (modified_at);

create table shop.shipments (
  shipment_no  bigint primary key,
  order_id     bigint not null references shop.orders,
  carrier_name varchar(50) not null,
  tracking_no  varchar(30) not null,
  shipped_at   timestamptz not null,
  delivered_at timestamptz,
  modified_at  timestamptz not null
);
create index on shop.shipments (order_id);
create index on shop.shipments (modified_at);

create table shop.order_items (
  order_item_no bigint primary key,
  order_id      bigint not null references shop.orders,
  line_no       smallint not null,
  product_no    bigint not null references shop.products,
  shipment_no   bigint references shop.shipments,
  unit_price    integer not null,
  quantity      smallint not null,
  item_status   varchar(3) not null,
  modified_at   timestamptz not null,
  unique (order_id, line_no)
);
create index on shop.order_items (modified_at);
comment on column shop.order_items.item_status is
  'N10 paid, N20 being packed, N30 on its way, N40 delivered, C40 cancelled, R10 return requested, R40 returned, E10 exchange requested.';

create table shop.order_item_options (
  order_item_no bigint not null references shop.order_items,
  option_name   varchar(50) not null,
  option_value  varchar(100) not null,
  primary key (order_item_no, option_name)
);
