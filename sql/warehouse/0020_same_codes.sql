-- The same text for codes that a service may hold for one: it may compare them without case, outer spaces and accents, and in
-- any form of Unicode. The first requests about two orders whose codes are alike carry no customer until the service has shown
-- them as two (promise 2).
create function sync.code_key(code text) returns text
language sql immutable strict parallel safe set search_path = pg_catalog, pg_temp as $$
  select lower(btrim(regexp_replace(
    regexp_replace(normalize(code collate "C", NFKD), '[\u0300-\u036f\u200b-\u200f\ufeff]', '', 'g'), '\s+', ' ', 'g'
  )) collate "default")
$$;
comment on function sync.code_key is 'The same text for two codes of orders that a service may hold for one.';

-- A hash: the text may be longer than an ordered index takes.
create index order_links_by_key on sync.order_links using hash (sync.code_key(order_code));
comment on index sync.order_links_by_key is 'Other orders of the shop whose codes a service may hold for the same.';
