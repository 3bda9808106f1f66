-- $1 bigint[]: brands that a webhook names. Returns the brands named in the last seven days, at most 100.
with noted as (
  update sync.settings set webhook_brands = (
    select coalesce(jsonb_object_agg(brand, at), '{}') from (
      select brand, max(at) as at
      from (
        select key as brand, value::timestamptz as at from jsonb_each_text(webhook_brands)
        union all
        select brand::text, now() from unnest($1::bigint[]) as brand
      ) as named
      where at > now() - interval '7 days'
      group by brand order by max(at) desc limit 100
    ) as newest
  )
  returning webhook_brands
)
select key::bigint as brand from noted, jsonb_object_keys(webhook_brands) as key order by 1
