-- The categories of the sample shop on MariaDB.
select
  c.category_no as code,
  c.title as name,
  c.parent_no as parent_code,
  case when c.is_open then 'visible' else 'hidden' end as status
from categories c
