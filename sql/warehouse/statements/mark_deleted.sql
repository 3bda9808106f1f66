-- Marks reviews as deleted and touches what counts them. They are no longer suspected gone, and their comments are no
-- longer due.
-- $1 bigint[]: reviews. $2 timestamptz: when the service said that they are gone.
with marked as (
  update warehouse.reviews set deleted_at = $2 where id = any($1::bigint[]) and deleted_at is null
  returning created_at, product_id, order_code
),
touched as (
  insert into sync.touches (record, dated_at, product_id, order_code)
  select 'review', created_at, product_id, order_code from marked
),
uncommented as (
  delete from sync.comments_due where review_id = any($1::bigint[])
)
delete from sync.absent_reviews where review_id = any($1::bigint[])
