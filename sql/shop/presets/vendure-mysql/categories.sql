-- Vendure on MySQL or MariaDB: the collections, in one language: English if there is one, else the first.
select
  c.id as code,
  (
    select t.name from collection_translation t
    where t.baseId = c.id order by t.languageCode <> 'en', t.id limit 1
  ) as name,
  -- The root collection is a technical one, and no category.
  p.id as parent_code,
  case when c.isPrivate then 'hidden' else 'visible' end as status
from collection c
left join collection p on p.id = c.parentId and not p.isRoot
where not c.isRoot
