-- The product categories. One row a category, in any order: review-sync sends parents first.
-- This file belongs to you, see orders.sql. Delete it if categories are not to be synced. It is read as a whole once an
-- hour.
select
  -- * The code of the category. Unique, and it never changes: the category is found at the service by it.
  c.category_no::text as code,

  -- * The name that customers see.
  c.title::text as name,

  -- The code of the category above. Null: a category at the top.
  c.parent_no::text as parent_code,

  -- visible or hidden; any other value is an error. Null: the service decides.
  case when c.is_open then 'visible' else 'hidden' end as status
from shop.categories c
