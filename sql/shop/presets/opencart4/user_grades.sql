-- OpenCart 4: the customer groups by the names of the first language.
select
  g.customer_group_id as code,
  -- OpenCart keeps these characters as entities.
  replace(replace(replace(replace(g.name, '&quot;', '"'), '&lt;', '<'), '&gt;', '>'), '&amp;', '&') as name
from oc_customer_group_description g
where g.language_id = (select min(f.language_id) from oc_customer_group_description f)
