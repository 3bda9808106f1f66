-- Magento 2: the customer groups, without "not logged in".
select
  g.customer_group_id as code,
  g.customer_group_code as name
from customer_group g
where g.customer_group_id > 0
