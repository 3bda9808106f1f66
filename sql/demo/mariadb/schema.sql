-- The sample shop's own tables (src/sandbox/sample-shop/schema.sql) as a Korean shop on MariaDB keeps them: dates
-- without zone, in Korean time. What review-sync reads of them is said by the other files of this folder.
create table member_grades (
  grade_code       varchar(20) primary key,
  grade_name       varchar(50) not null,
  min_purchase     int not null,
  discount_percent smallint not null,
  badge_file       varchar(100)
);

create table members (
  member_no  bigint primary key,
  login_id   varchar(40) not null unique,
  real_name  varchar(50) not null,
  mobile     varchar(20) not null,
  email      varchar(100) not null,
  grade_code varchar(20) not null references member_grades (grade_code),
  joined_at  datetime(3) not null
);

create table categories (
  category_no int primary key,
  parent_no   int references categories (category_no),
  title       varchar(100) not null,
  is_open     boolean not null
);

create table products (
  product_no    bigint primary key,
  product_code  varchar(20) not null unique,
  product_name  varchar(200) not null,
  english_name  varchar(200) not null,
  category_no   int not null references categories (category_no),
  selling_price int not null,
  released_at   datetime(3) not null
);

create table stores (
  store_no   int primary key,
  store_name varchar(50) not null
);

create table orders (
  order_id        bigint primary key,
  order_no        varchar(24) not null unique,
  member_no       bigint references members (member_no),
  buyer_name      varchar(50) not null,
  buyer_mobile    varchar(20),
  buyer_email     varchar(100),
  sales_channel   varchar(20) not null,
  store_no        int references stores (store_no),
  goods_amount    int not null,
  shipping_fee    int not null,
  coupon_discount int not null,
  points_used     int not null,
  paid_amount     int not null,
  ordered_at      datetime(3) not null,
  modified_at     datetime(3) not null,
  removed_at      datetime(3),
  key (ordered_at),
  key (modified_at)
);

create table shipments (
  shipment_no  bigint primary key,
  order_id     bigint not null references orders (order_id),
  carrier_name varchar(50) not null,
  tracking_no  varchar(30) not null,
  shipped_at   datetime(3) not null,
  delivered_at datetime(3),
  modified_at  datetime(3) not null,
  key (order_id),
  key (modified_at)
);

create table order_items (
  order_item_no bigint primary key,
  order_id      bigint not null references orders (order_id),
  line_no       smallint not null,
  product_no    bigint not null references products (product_no),
  shipment_no   bigint references shipments (shipment_no),
  unit_price    int not null,
  quantity      smallint not null,
  item_status   varchar(3) not null,
  modified_at   datetime(3) not null,
  unique key (order_id, line_no),
  key (modified_at)
);

create table order_item_options (
  order_item_no bigint not null references order_items (order_item_no),
  option_name   varchar(50) not null,
  option_value  varchar(100) not null,
  primary key (order_item_no, option_name)
);
