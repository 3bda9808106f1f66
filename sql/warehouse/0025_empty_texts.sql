-- An empty text in place of a code or a name counted as one: a guest counted as a member, and a review without an order
-- as a review of the order '' (review-columns.ts).
with changed as (
  update warehouse.reviews set code = nullif(code, ''), user_code = nullif(user_code, ''), user_name = nullif(user_name, ''),
    product_code = nullif(product_code, ''), review_type = nullif(review_type, ''), source = nullif(source, ''),
    order_code = nullif(order_code, ''), sub_order_code = nullif(sub_order_code, ''), store_name = nullif(store_name, ''),
    third_party_name = nullif(third_party_name, ''), tag_name = nullif(tag_name, '')
  where '' in (code, user_code, user_name, product_code, review_type, source, order_code, sub_order_code, store_name,
    third_party_name, tag_name)
  returning created_at, product_id
)
insert into sync.touches (record, dated_at, product_id)
select 'review', created_at, product_id from changed;
