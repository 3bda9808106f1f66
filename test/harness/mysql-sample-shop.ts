/**
 * The sample shop (src/sandbox/sample-shop/schema.sql) as MySQL and MariaDB keep it: dates without zone, in the time of
 * Seoul.
 */
export const mysqlSampleSchema = `
create table member_grades (grade_code varchar(20) primary key, grade_name varchar(50) not null, min_purchase int not null,
  discount_percent smallint not null, badge_file varchar(100));
create table members (member_no bigint primary key, login_id varchar(40) not null unique, real_name varchar(50) not null,
  mobile varchar(20) not null, email varchar(100) not null, grade_code varchar(20) not null, joined_at datetime(6) not null);
create table categories (category_no int primary key, parent_no int, title varchar(100) not null, is_open boolean not null);
create table products (product_no bigint primary key, product_code varchar(20) not null unique, product_name varchar(200) not null,
  english_name varchar(200) not null, category_no int not null, selling_price int not null, released_at datetime(6) not null);
create table stores (store_no int primary key, store_name varchar(50) not null);
create table orders (order_id bigint primary key, order_no varchar(24) not null unique, member_no bigint,
  buyer_name varchar(50) not null, buyer_mobile varchar(20), buyer_email varchar(100), sales_channel varchar(20) not null,
  store_no int, goods_amount int not null, shipping_fee int not null, coupon_discount int not null, points_used int not null,
  paid_amount int not null, ordered_at datetime(6) not null, modified_at datetime(6) not null, removed_at datetime(6),
  key (ordered_at), key (modified_at));
create table shipments (shipment_no bigint primary key, order_id bigint not null, carrier_name varchar(50) not null,
  tracking_no varchar(30) not null, shipped_at datetime(6) not null, delivered_at datetime(6), modified_at datetime(6) not null,
  key (order_id), key (modified_at));
create table order_items (order_item_no bigint primary key, order_id bigint not null, line_no smallint not null,
  product_no bigint not null, shipment_no bigint, unit_price int not null, quantity smallint not null,
  item_status varchar(3) not null, modified_at datetime(6) not null, unique (order_id, line_no), key (modified_at));
create table order_item_options (order_item_no bigint not null, option_name varchar(50) not null,
  option_value varchar(100) not null, primary key (order_item_no, option_name));`;

/** What sql/shop/*.sql reads, in the words of MySQL. */
export const mysqlSampleQueries = {
  orders: `
    select o.order_no as code, o.ordered_at as created_at, o.paid_amount as total_price, m.login_id as user_code,
      o.buyer_name as user_name, o.buyer_mobile as user_phone, o.buyer_email as user_email, m.grade_code as user_grade_code,
      st.store_name,
      case o.sales_channel when 'pc_web' then 'pc' when 'mobile_web' then 'mobile' when 'app' then 'mobile' end as order_device,
      o.points_used as mileage, o.removed_at as deleted_at
    from orders o left join members m on m.member_no = o.member_no left join stores st on st.store_no = o.store_no`,
  order_lines: `
    select o.order_no as order_code, i.line_no as line_code, p.product_code, i.unit_price * i.quantity as price,
      case i.item_status
        when 'N10' then 'paid' when 'N20' then 'delivery_preparing' when 'N30' then 'delivery_started'
        when 'N40' then 'delivery_finished' when 'C40' then 'cancelled' when 'R10' then 'refund_requested'
        when 'R40' then 'returned' when 'E10' then 'exchange_requested' else i.item_status
      end as status,
      coalesce(s.shipped_at, case when o.store_no is not null then o.ordered_at end) as delivery_started_at,
      coalesce(s.delivered_at, case when o.store_no is not null then o.ordered_at end) as delivered_at,
      s.tracking_no as invoice, s.carrier_name as delivery_service,
      (select json_objectagg(c.option_name, c.option_value) from order_item_options c
       where c.order_item_no = i.order_item_no) as product_options
    from order_items i join orders o on o.order_id = i.order_id join products p on p.product_no = i.product_no
    left join shipments s on s.shipment_no = i.shipment_no`,
  changed_orders: `
    select o.order_no as code, o.modified_at as changed_at from orders o where o.modified_at >= :since
    union all
    select o.order_no, i.modified_at from order_items i join orders o on o.order_id = i.order_id where i.modified_at >= :since
    union all
    select o.order_no, s.modified_at from shipments s join orders o on o.order_id = s.order_id where s.modified_at >= :since`,
  categories: `
    select c.category_no as code, c.title as name, c.parent_no as parent_code,
      case when c.is_open then 'visible' else 'hidden' end as status from categories c`,
  user_grades: `
    select g.grade_code as code, g.grade_name as name,
      concat('https://shop.example.com/badges/', g.badge_file) as icon_url from member_grades g`,
};
