-- Compares reviews as the service shows them with those of the warehouse, field by field. It does not compare what an
-- upsert would do, so it also finds a fault of the upsert.
-- $1 text: a JSON array of reviews.
-- $2 text[]: fields that are not compared if these reviews lack them. Null: only fields that both have are compared.
-- $3 timestamptz: when this comparison began, by the database's clock. A newer version that landed since is no
--    difference. Null: every difference counts.
-- Index: reviews_pkey. Gives a row for each review that differs: id, kind, and the fields that differ.
-- kind: missing; stale; reverted: the service shows an older version than the warehouse holds, and the review in the
-- warehouse is not marked deleted.
with items as materialized (
  select value, (value ->> 'id')::bigint as id from jsonb_array_elements($1::text::jsonb)
),
-- Makes Postgres use the index. It expects 100 items, and would read all reviews of a warehouse with 20,000.
held as (
  select * from warehouse.reviews where id = any (array(select id from items))
)
select
  item.id,
  case
    when kept.id is null then 'missing'
    when kept.deleted_at is null and kept.updated_at > (item.value ->> 'updated_at')::timestamptz then 'reverted'
    else 'stale'
  end as kind,
  case when kept.id is null then '{}'::text[] else differing.fields end as fields
from items as item
-- A field of a wrong type is an error of the data: no landing could correct it. The columns are those of
-- land_reviews.sql.
cross join lateral jsonb_to_record(item.value) as typed (id bigint /*@typed_columns*/)
left join held as kept on kept.id = item.id
cross join lateral (
  select
    coalesce(array_agg(key order by key), '{}')
      || case when kept.deleted_at is null then '{}'::text[] else '{deleted_at}'::text[] end as fields
  from jsonb_each(item.value) as theirs (key, value)
  full join jsonb_each(
    (to_jsonb(kept) - '{extra,deleted_at,first_seen_at,synced_at}'::text[]) || kept.extra
  ) as ours (key, value) using (key)
  where (theirs.value is not null or key <> all ($2::text[]))
    and ($2::text[] is not null or ours.value is not null)
    and coalesce(theirs.value, 'null') <> coalesce(ours.value, 'null')
    -- Zero is no rating, and an empty text is no code or name.
    and not (theirs.value #>> '{}' = case key when 'score' then '0' else '' end and coalesce(ours.value, 'null') = 'null')
    -- A null comments_count does not erase the number (land_reviews.sql, 3). A null updated_at says that there was no
    -- update.
    and (key not in ('comments_count', 'updated_at') or theirs.value <> 'null')
    -- A number may come as text.
    and theirs.value #>> '{}' is distinct from ours.value #>> '{}'
    and case
      -- The service may sign links again in each response (docs/interface.md, "Limits"): a new signature is no
      -- difference.
      when key in ('videos', 'video_urls') and jsonb_typeof(theirs.value) = 'array' and jsonb_typeof(ours.value) = 'array'
        then jsonb_array_length(theirs.value) <> jsonb_array_length(ours.value)
      when key = 'images'
        then regexp_replace(theirs.value::text, '[?][^"]*"', '"', 'g')
          is distinct from regexp_replace(ours.value::text, '[?][^"]*"', '"', 'g')
      when key in ('created_at', 'updated_at') and theirs.value #>> '{}' ~ '^\d{4}-\d\d-\d\d[Tt ]'
        then (theirs.value #>> '{}')::timestamptz <> (ours.value #>> '{}')::timestamptz
      -- True and false may come as 1 and 0.
      when key in ('display', 'store_order') and jsonb_typeof(theirs.value) <> 'null' and jsonb_typeof(ours.value) = 'boolean'
        then (theirs.value #>> '{}')::boolean <> (ours.value #>> '{}')::boolean
      else true
    end
) as differing
where kept.id is null
  or (
    differing.fields <> '{}'
    and not coalesce(
      kept.updated_at > (item.value ->> 'updated_at')::timestamptz and kept.synced_at >= $3::timestamptz, false
    )
  )
