-- WooCommerce: the product categories.
select
  t.term_id as code,
  -- WordPress keeps & as an entity.
  replace(t.name, '&amp;', '&') as name,
  nullif(c.parent, 0) as parent_code,
  'visible' as status
from wp_term_taxonomy c
join wp_terms t on t.term_id = c.term_id
where c.taxonomy = 'product_cat'
