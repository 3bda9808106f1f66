-- Compares reviews as the service shows them with those of the warehouse, field by field; not by what an upsert would do,
-- so that a fault of that one is found.
-- $1 text: a JSON array of reviews. $2 boolean: only fields that both have (a review alone has others than one in a list).
-- Gives a row for each that differs: id, kind (missing or stale), and the fields that differ.
select
  (item.value ->> 'id')::bigint as id,
  case when kept.id is null then 'missing' else 'stale' end as kind,
  case when kept.id is null then '{}'::text[] else differing.fields end as fields
from jsonb_array_elements($1::text::jsonb) as item
left join warehouse.reviews kept on kept.id = (item.value ->> 'id')::bigint
cross join lateral (
  select
    coalesce(array_agg(key order by key), '{}')
      || case when kept.deleted_at is null then '{}'::text[] else '{deleted_at}'::text[] end as fields
  from jsonb_each(item.value) as theirs (key, value)
  full join jsonb_each(
    (to_jsonb(kept) - '{extra,deleted_at,first_seen_at,synced_at}'::text[]) || kept.extra
  ) as ours (key, value) using (key)
  where coalesce(theirs.value, 'null') <> coalesce(ours.value, 'null')
    -- A number may come as text.
    and coalesce(theirs.value #>> '{}', '') <> coalesce(ours.value #>> '{}', '')
    -- Only a review alone shows these, and one that was read by its id has kept them.
    and not (theirs.value is null and key in ('comments', 'tag_name'))
    and not ($2::boolean and (theirs.value is null or ours.value is null))
    and case
      when key in ('created_at', 'updated_at') and theirs.value #>> '{}' ~ '^\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d'
        then (theirs.value #>> '{}')::timestamptz <> (ours.value #>> '{}')::timestamptz
      -- True and false may come as 1 and 0.
      when key in ('display', 'store_order') and theirs.value is not null and jsonb_typeof(ours.value) = 'boolean'
        then (theirs.value #>> '{}')::boolean <> (ours.value #>> '{}')::boolean
      else true
    end
) as differing
where kept.id is null
  -- What a run has brought in a newer version meanwhile is not stale.
  or (kept.updated_at <= (item.value ->> 'updated_at')::timestamptz and differing.fields <> '{}')
