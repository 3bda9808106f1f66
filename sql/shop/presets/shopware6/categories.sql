-- Shopware 6: the categories by their names in the default language, without links and folders of the menu.
select
  lower(hex(c.id)) as code,
  n.name as name,
  case when above.type = 'page' then lower(hex(above.id)) end as parent_code,
  case when c.active = 1 and c.visible = 1 then 'visible' else 'hidden' end as status
from category c
join category_translation n on n.category_id = c.id and n.category_version_id = c.version_id
  and n.language_id = 0x2FBB5FE2E29A4D70AA5854CE7CE3E20B
left join category above on above.id = c.parent_id and above.version_id = c.version_id
where c.version_id = 0x0FA91CE3E96A4BC2BE4BD9CE752C3425 and c.type = 'page' and n.name is not null
