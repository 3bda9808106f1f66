-- OpenCart 3.0: the categories by the names of the first language. For another one, replace the subquery by its number.
select
  c.category_id as code,
  -- OpenCart keeps these characters as entities.
  replace(replace(replace(replace(n.name, '&quot;', '"'), '&lt;', '<'), '&gt;', '>'), '&amp;', '&') as name,
  nullif(c.parent_id, 0) as parent_code,
  case when c.status = 1 then 'visible' else 'hidden' end as status
from oc_category c
join oc_category_description n on n.category_id = c.category_id
where n.language_id = (select min(f.language_id) from oc_category_description f)
