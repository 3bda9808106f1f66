-- Spree 4.3 to 5.x on Postgres: the taxons of all taxonomies.
select t.id as code, t.name, t.parent_id as parent_code
from spree_taxons t
