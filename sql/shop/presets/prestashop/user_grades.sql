-- PrestaShop: the customer groups, by the names of the default language.
select
  g.id_group as code,
  g.name as name
from ps_group_lang g
where g.id_lang = (select max(f.value) from ps_configuration f where f.name = 'PS_LANG_DEFAULT' and f.id_shop is null)
