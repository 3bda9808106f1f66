-- Shopware 6: the customer groups by their names in the default language.
select
  lower(hex(g.customer_group_id)) as code,
  g.name as name
from customer_group_translation g
where g.language_id = 0x2FBB5FE2E29A4D70AA5854CE7CE3E20B and g.name is not null
