-- The product categories. One row a category, in any order: review-sync sends parents first.
-- This file belongs to you, see orders.sql. Delete it if categories are not to be synced.
select
  -- * Your code of the category. Unique, and it never changes.
  c.category_no::text as code,

  -- * The name that customers see.
  c.title::text as name,

  -- The code of the category above; null at the top.
  c.parent_no::text as parent_code,

  -- visible or hidden.
  case when c.is_open then 'visible' else 'hidden' end as status
from shop.categories c
