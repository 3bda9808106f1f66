-- Olist's categories as review-sync wants them: one level, known by their Portuguese names. Two categories of the data
-- set have no translation; they keep the Portuguese name.
select
  used.code as code,
  coalesce(t.product_category_name_english, used.code) as name
from (
  select product_category_name as code from olist_products where product_category_name is not null
  union
  select product_category_name from product_category_name_translation
) used
left join product_category_name_translation t on t.product_category_name = used.code
