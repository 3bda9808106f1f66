-- One page of Olist's reviews as bodies of POST /v1/reviews, in the order of the file. Not a shop query: reviews are
-- what the reference service is filled with.
-- $1 integer: the row after which to go on; $2 integer: rows at most.
-- Olist reviews an order, not a product: the review is given to the order's first item.
select
  r.row_no,
  jsonb_strip_nulls(jsonb_build_object(
    -- An order may have several reviews, so the order's id alone would be no key.
    'code', r.order_id || ':' || (
      select count(*) from olist_order_reviews earlier
      where earlier.order_id = r.order_id and earlier.row_no <= r.row_no
    ),
    'created_at', to_char(
      r.review_creation_date at time zone 'America/Sao_Paulo', 'YYYY-MM-DD"T"HH24:MI:SSTZH:TZM'
    ),
    'message', coalesce(
      nullif(concat_ws(E'\n', r.review_comment_title, r.review_comment_message), ''), '(no comment)'
    ),
    'score', r.review_score,
    'user_code', c.customer_unique_id,
    'product_id', p.service_product_id,
    'product_code', p.product_id
  )) as body
from olist_order_reviews r
left join olist_orders o on o.order_id = r.order_id
left join olist_customers c on c.customer_id = o.customer_id
left join olist_order_items i on i.order_id = r.order_id
  and i.order_item_id = (select min(f.order_item_id) from olist_order_items f where f.order_id = r.order_id)
left join olist_products p on p.product_id = i.product_id
where r.row_no > $1
order by r.row_no
limit $2
