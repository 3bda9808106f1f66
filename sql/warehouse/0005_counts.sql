-- Counts that answer the views of bi, `status` and the calendar of its page, so that a question does not read every
-- review and every order. All of these tables except sync.touches can be made again from the reviews and orders at any
-- time.
--
-- 1. A statement that changes reviews or orders appends to sync.touches, in the same transaction, the keys under which
--    they were counted and those under which they are to be counted now.
-- 2. Runs count the touched keys again from the reviews and orders (statements/recount.sql). `migrate --rebuild` counts
--    all keys again, by the same statements without their filters.
-- 3. Rows that somebody changes by hand are not touched: `migrate --rebuild` counts them.
create table sync.touches (
  dated_at     timestamptz,
  delivered_at timestamptz,
  product_id   bigint,
  record       text not null check (record in ('review', 'order')),
  order_code   text
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 20000);
-- The planner's statistics would keep codes of orders after `forget`.
alter table sync.touches alter column order_code set statistics 0;
comment on table sync.touches is 'What changed in reviews and orders since the last count. A record may be here several times. A review is here as it was and as it is; an order as it was, one row a line, because its code finds it as it is.';
comment on column sync.touches.dated_at is 'When the review was written, or the order made; null: an order without a date.';
comment on column sync.touches.delivered_at is 'When the line was delivered; null: a review, or a line that was not delivered.';
comment on column sync.touches.product_id is 'The service''s id of the product.';
comment on column sync.touches.record is 'review or order.';
comment on column sync.touches.order_code is 'The shop''s order code. Null: no delivery is to be counted again.';

create table sync.review_day_counts (
  day            date not null,
  source         text,
  score          smallint,
  has_photo      boolean not null,
  has_video      boolean not null,
  is_displayed   boolean not null,
  reviews        bigint not null,
  last_review_at timestamptz not null
);
create index review_day_counts_by_day on sync.review_day_counts (day);
comment on table sync.review_day_counts is 'Reviews that are not marked deleted, by day and by what the views of bi ask for.';
comment on column sync.review_day_counts.day is 'Day of creation in the time zone of sync.settings.';
comment on column sync.review_day_counts.source is 'Where the reviews came from.';
comment on column sync.review_day_counts.score is 'Rating; null: no rating was given.';
comment on column sync.review_day_counts.has_photo is 'As in bi.reviews.';
comment on column sync.review_day_counts.has_video is 'As in bi.reviews.';
comment on column sync.review_day_counts.is_displayed is 'As in bi.reviews.';
comment on column sync.review_day_counts.reviews is 'Number of reviews.';
comment on column sync.review_day_counts.last_review_at is 'When the last of them was written.';
comment on index sync.review_day_counts_by_day is 'The counts of a day.';

-- By product and day there would be nearly as many rows as reviews.
create table sync.product_counts (
  product_id            bigint not null,
  month                 date not null,
  product_code          text,
  reviews               integer not null default 0,
  displayed             integer not null default 0,
  rated                 integer not null default 0,
  stars                 integer not null default 0,
  displayed_rated       integer not null default 0,
  displayed_stars       integer not null default 0,
  score_5               integer not null default 0,
  score_4               integer not null default 0,
  score_3               integer not null default 0,
  score_2               integer not null default 0,
  score_1               integer not null default 0,
  with_photo            integer not null default 0,
  first_review_at       timestamptz,
  last_review_at        timestamptz,
  delivered_sub_orders  integer not null default 0,
  reviews_of_deliveries integer not null default 0,
  reviewed_sub_orders   integer not null default 0,
  counted_at            timestamptz not null default clock_timestamp()
);
create index product_counts_by_key on sync.product_counts (product_id, month);
comment on table sync.product_counts is 'Reviews and deliveries by product and month, and when they were last counted. A product and month has a row about its reviews, another one about its deliveries, or an empty one. A delivery is a product of an order of which at least one sub-order was delivered.';
comment on column sync.product_counts.month is 'First day of the month in which the reviews were written, or the first sub-order of a delivery was delivered, in the time zone of sync.settings; -infinity: orders without a date.';
comment on column sync.product_counts.reviews is 'Reviews that are not marked deleted.';
comment on column sync.product_counts.displayed is 'Those that the shop shows.';
comment on column sync.product_counts.rated is 'Those with a rating.';
comment on column sync.product_counts.stars is 'Sum of the ratings.';
comment on column sync.product_counts.displayed_rated is 'Those with a rating that the shop shows.';
comment on column sync.product_counts.displayed_stars is 'Sum of their ratings.';
comment on column sync.product_counts.score_5 is 'Reviews with 5.';
comment on column sync.product_counts.score_4 is 'Reviews with 4.';
comment on column sync.product_counts.score_3 is 'Reviews with 3.';
comment on column sync.product_counts.score_2 is 'Reviews with 2.';
comment on column sync.product_counts.score_1 is 'Reviews with 1.';
comment on column sync.product_counts.with_photo is 'Reviews with at least one photo.';
comment on column sync.product_counts.first_review_at is 'When the first of the reviews was written.';
comment on column sync.product_counts.last_review_at is 'When the last of them was written.';
comment on column sync.product_counts.delivered_sub_orders is 'Sub-orders that were delivered.';
comment on column sync.product_counts.reviews_of_deliveries is 'Reviews of them, whenever written.';
comment on column sync.product_counts.reviewed_sub_orders is 'Delivered sub-orders with a review, each counted once.';
comment on column sync.product_counts.counted_at is 'When the row was made. `export parquet` writes a month again when a row of it was made since: its reviews, orders or deliveries have changed.';
comment on index sync.product_counts_by_key is 'The counts of a product in a month.';

-- A review belongs to a delivery by order code and product: the service does not always name the sub-order.
create table sync.delivery_delay_counts (
  day             date not null,
  hours_to_review integer,
  deliveries      integer not null,
  rated_reviews   integer not null,
  stars           integer not null
);
create index delivery_delay_counts_by_day on sync.delivery_delay_counts (day);
comment on table sync.delivery_delay_counts is 'Deliveries by day and by the time to the first review.';
comment on column sync.delivery_delay_counts.day is 'Day of the first delivery, in the time zone of sync.settings.';
comment on column sync.delivery_delay_counts.hours_to_review is 'Whole hours from the first delivery to the first review, rounded down; null: no review.';
comment on column sync.delivery_delay_counts.deliveries is 'Delivered products of orders.';
comment on column sync.delivery_delay_counts.rated_reviews is 'Reviews with a rating.';
comment on column sync.delivery_delay_counts.stars is 'Sum of the ratings.';
comment on index sync.delivery_delay_counts_by_day is 'The counts of a day.';
