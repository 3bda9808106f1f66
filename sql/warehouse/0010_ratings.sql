-- Removes ratings that are none: 0 means that no rating was given. Other numbers are now refused when a review lands.
with changed as (
  update warehouse.reviews set score = null where score not between 1 and 5
  returning created_at, product_id, order_code
)
insert into sync.touches (record, dated_at, product_id, order_code)
select 'review', created_at, product_id, order_code from changed;

comment on column warehouse.reviews.score is 'Rating as the service shows it, 1 to 5; null: no rating was given, which a service may show as 0.';
