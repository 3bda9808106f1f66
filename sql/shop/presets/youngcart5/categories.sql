-- Youngcart 5: the categories. A code has two characters for each level, so the parent is its beginning.
select
  c.ca_id as code,
  c.ca_name as name,
  case when char_length(c.ca_id) > 2 then left(c.ca_id, char_length(c.ca_id) - 2) end as parent_code,
  case when c.ca_use = 1 then 'visible' else 'hidden' end as status
from g5_shop_category c
