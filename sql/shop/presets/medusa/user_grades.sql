-- Medusa 2: the customer groups.
select g.id as code, g.name
from customer_group g
where g.deleted_at is null
