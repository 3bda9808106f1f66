-- Medusa 2: the product categories.
select
  c.id as code,
  c.name,
  c.parent_category_id as parent_code,
  case when c.is_active and not c.is_internal then 'visible' else 'hidden' end as status
from product_category c
where c.deleted_at is null
