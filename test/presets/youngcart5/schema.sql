-- The tables of Youngcart 5 that the preset reads, declared again from the facts in its README: columns, keys, engine,
-- zero dates.
set sql_mode = '';
create table g5_shop_order (
  od_id bigint unsigned not null primary key,
  mb_id varchar(255) not null default '',
  od_name varchar(20) not null default '',
  od_email varchar(100) not null default '',
  od_tel varchar(20) not null default '',
  od_hp varchar(20) not null default '',
  od_cart_price int not null default 0,
  od_cart_coupon int not null default 0,
  od_send_cost int not null default 0,
  od_send_cost2 int not null default 0,
  od_send_coupon int not null default 0,
  od_cancel_price int not null default 0,
  od_receipt_point int not null default 0,
  od_refund_price int not null default 0,
  od_receipt_time datetime not null default '0000-00-00 00:00:00',
  od_coupon int not null default 0,
  od_status varchar(255) not null default '',
  od_mobile tinyint not null default 0,
  od_delivery_company varchar(255) not null default '0',
  od_invoice varchar(255) not null default '',
  od_invoice_time datetime not null default '0000-00-00 00:00:00',
  od_time datetime not null default '0000-00-00 00:00:00',
  key index2 (mb_id)
) engine = MyISAM default charset = utf8;
create table g5_member (
  mb_no int not null auto_increment primary key,
  mb_id varchar(20) not null default '',
  mb_leave_date varchar(8) not null default '',
  mb_memo text not null default '',
  unique key mb_id (mb_id)
) engine = MyISAM default charset = utf8;
create table g5_shop_cart (
  ct_id int not null auto_increment primary key,
  od_id bigint unsigned not null,
  it_id varchar(20) not null default '',
  ct_status varchar(255) not null default '',
  ct_history text not null,
  ct_price int not null default 0,
  cp_price int not null default 0,
  ct_option varchar(255) not null default '',
  ct_qty int not null default 0,
  io_id varchar(255) not null default '',
  io_type tinyint not null default 0,
  io_price int not null default 0,
  key od_id (od_id),
  key it_id (it_id),
  key ct_status (ct_status)
) engine = MyISAM default charset = utf8;
create table g5_shop_category (
  ca_id varchar(10) not null default '0' primary key,
  ca_name varchar(255) not null default '',
  ca_use tinyint not null default 0
) engine = MyISAM default charset = utf8;
