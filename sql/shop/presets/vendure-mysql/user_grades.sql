-- Vendure on MySQL or MariaDB: the customer groups.
select g.id as code, g.name
from customer_group g
