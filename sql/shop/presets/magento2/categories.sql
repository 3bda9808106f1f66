-- Magento 2: the categories below the root categories. In Adobe Commerce, write row_id for entity_id in the last two
-- joins.
select
  c.entity_id as code,
  n.value as name,
  case when c.level > 2 then c.parent_id end as parent_code,
  case when coalesce(v.value, 0) = 1 then 'visible' else 'hidden' end as status
from catalog_category_entity c
join eav_entity_type t on t.entity_type_code = 'catalog_category'
join eav_attribute named on named.entity_type_id = t.entity_type_id and named.attribute_code = 'name'
join eav_attribute active on active.entity_type_id = t.entity_type_id and active.attribute_code = 'is_active'
join catalog_category_entity_varchar n on n.entity_id = c.entity_id and n.attribute_id = named.attribute_id and n.store_id = 0
left join catalog_category_entity_int v on v.entity_id = c.entity_id and v.attribute_id = active.attribute_id and v.store_id = 0
where c.level >= 2
