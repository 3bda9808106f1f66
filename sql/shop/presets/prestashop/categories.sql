-- PrestaShop: the categories below Home, by the names of the default language.
select
  c.id_category as code,
  n.name as name,
  case when c.level_depth > 2 then c.id_parent end as parent_code,
  case when c.active = 1 then 'visible' else 'hidden' end as status
from ps_category c
join ps_category_lang n on n.id_category = c.id_category and n.id_shop = c.id_shop_default
where c.level_depth >= 2
  and n.id_lang = (select max(f.value) from ps_configuration f where f.name = 'PS_LANG_DEFAULT' and f.id_shop is null)
