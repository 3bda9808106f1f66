-- Saleor: the product categories.
select c.id as code, c.name, c.parent_id as parent_code
from product_category c
