-- Vendure on Postgres: the collections, in one language: English if there is one, else the first.
select
  c.id as code,
  t.name,
  -- The root collection is a technical one, and no category.
  p.id as parent_code,
  case when c."isPrivate" then 'hidden' else 'visible' end as status
from collection c
left join collection p on p.id = c."parentId" and not p."isRoot"
cross join lateral (
  select ct.name from collection_translation ct
  where ct."baseId" = c.id order by ct."languageCode" <> 'en', ct.id limit 1
) t
where not c."isRoot"
