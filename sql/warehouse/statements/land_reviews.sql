-- Lands one page of reviews, the response body as it came.
-- $1 text: a JSON array of reviews (docs/interface.md, "Review"); may be empty.
-- $2 text[]: the names of all fields of a review that was read by its id. Null: the page comes from a list.
-- $3 timestamptz: any version replaces a row that was written before this moment (verify --repair). Null: no such rows.
-- $4 text[]: columns that keep their values, because the response does not show them.
-- $5 text[]: fields that are not put into extra.
--
-- All columns except id come from src/warehouse/reviews/review-columns.ts, in the place of the comments that name them:
-- @columns: names. @typed_columns: names and types. @column_names: names as texts. @newest_values: values after this
-- version. @assignments: the assignments of an update, also of extra. @landing_values, @kept_values: the parts of the
-- landing values, and of those in the table, that are compared.
--
-- 1. An older version never overwrites a newer one, and an unchanged row is not rewritten.
-- 2. Any version replaces a row that is marked deleted: the service may use an id again, or restore a review as it was.
-- 3. A list does not show comments, and a review read by its id may lack fields (docs/interface.md, "Review"). Neither
--    erases what it does not show. If the service uses an id again, for another review, the old comments stay
--    until that review is read by its id (6).
-- 4. Two versions of one review on a page are an error, like bad data: the page is then landed row by row.
-- 5. A written review is touched, as it was and as it is: the counts behind bi follow (0005_counts.sql).
-- 6. A review whose number of comments has moved is to be read by its id (0019_replies.sql).
-- Index: reviews_pkey. Gives one row: how many reviews were inserted, and how many updated.
--
-- Planning takes half as long as landing. Postgres keeps the plan of a named statement only while the plan looks no
-- dearer than a new one. So the statement has no subquery per row.
with items as materialized (
  select value, (value ->> 'id')::bigint as id from jsonb_array_elements($1::text::jsonb)
),
-- Locked: no other page changes the rows between here and `written`.
earlier as materialized (
  select * from warehouse.reviews
  where id = any (array(select id from items))
  order by id
  for update
),
written as (
  insert into warehouse.reviews as kept (id, /*@columns*/ extra)
  select r.id, /*@newest_values*/
    case
      when $2::text[] is not null then coalesce(old.extra, '{}') - $2::text[]
      when old.extra ? 'comments' then jsonb_build_object('comments', old.extra -> 'comments')
      else '{}'
    end || (item.value - array['id' /*@column_names*/] - $5::text[])
  from items as item
  cross join lateral jsonb_to_record(item.value) as r (id bigint /*@typed_columns*/)
  left join earlier as old on old.id = item.id
  -- Makes Postgres read `earlier` before it writes the first row.
  where (select count(*) from earlier) >= 0
  -- This order keeps two pages with the same reviews from locking each other out.
  order by r.id
  on conflict (id) do update set /*@assignments*/ deleted_at = null, synced_at = now()
  where kept.deleted_at is not null
    or (
      (excluded.updated_at >= kept.updated_at or kept.synced_at < $3::timestamptz)
      and (/*@kept_values*/ true) is distinct from (/*@landing_values*/ true)
    )
  returning id, created_at, product_id, order_code, score, comments_count, (xmax = 0) as inserted
),
-- If an edit, such as one of likes, changes no count of deliveries, the order is not touched.
changed as (
  select written.*, (earlier.created_at, earlier.product_id, earlier.order_code, earlier.score, earlier.deleted_at)
    is distinct from (written.created_at, written.product_id, written.order_code, written.score, null) as moves_deliveries
  from written left join earlier using (id)
),
touched as (
  insert into sync.touches (record, dated_at, product_id, order_code)
  select 'review', created_at, product_id, case when moves_deliveries then order_code end from changed
  union
  select 'review', earlier.created_at, earlier.product_id, case when moves_deliveries then earlier.order_code end
  from earlier join changed using (id)
),
-- Only a list has the number of comments. If a review was deleted, or its id stands for another review, it may have
-- other comments although their number is the same.
commented as (
  insert into sync.comments_due as due (review_id, moved_at)
  select written.id, now() from written left join earlier using (id)
  where $2::text[] is null and (
    coalesce(written.comments_count, 0) <> coalesce(earlier.comments_count, 0)
    or written.comments_count > 0 and (written.created_at <> earlier.created_at or earlier.deleted_at is not null)
  )
  on conflict (review_id) do update set moves = due.moves + 1, moved_at = excluded.moved_at
),
-- A review that lands closes its dead letter, open or discarded, and is no longer suspected gone. Such rows are rare.
-- No index may be used: Postgres then makes the arrays only if there is a row to compare with.
healed as (
  update sync.dead_letters set resolved_at = coalesce(resolved_at, now()), is_discarded = false
  where kind = 'review' and (resolved_at is null or is_discarded)
    and key || '' = any (array(select value ->> 'id' from items))
),
found as (
  delete from sync.absent_reviews where review_id + 0 = any (array(select id from items))
)
select
  count(*) filter (where inserted)::integer as inserted,
  count(*) filter (where not inserted)::integer as updated
from written
