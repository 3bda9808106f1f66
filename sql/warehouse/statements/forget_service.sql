-- If the warehouse has no order and no review of the service, forgets how far the service was read, and the service's
-- ids of products and of the catalog.
with nothing as (
  update sync.settings set orders_cursor = null, reviews_cursor = null
  where not exists (select from sync.order_links where order_id is not null)
    and not exists (select from warehouse.reviews where deleted_at is null)
  returning true
),
windows as (delete from sync.export_windows using nothing),
gaps as (delete from sync.open_gaps using nothing),
bounds as (delete from warehouse.review_overview using nothing),
products as (delete from sync.product_links using nothing),
grades as (delete from sync.user_grade_links using nothing)
delete from sync.category_links using nothing
