-- Gives the same text for codes that a service may hold for one: the service may compare them without case, outer
-- spaces and accents, and in any form of Unicode. If the codes of two orders are alike, the first requests about them
-- carry no customer until the service has shown the orders as two (promise 2).
create function sync.code_key(code text) returns text
language sql immutable strict parallel safe set search_path = pg_catalog, pg_temp as $$
  select lower(upper(btrim(regexp_replace(regexp_replace(
    normalize(code collate "C", NFKD),
    '[\u00ad\u0300-\u036f\u0591-\u05c7\u064b-\u065f\u180e\u1ab0-\u1aff\u1dc0-\u1dff\u200b-\u200f\u20d0-\u20ff\u3099\u309a\ufe20-\ufe2f\ufeff]', '', 'g'
  ), '[\s\u0085\u2028\u2029]+', ' ', 'g')) collate "default"))
$$;
comment on function sync.code_key is 'The same text for two codes of orders that a service may hold for one.';

-- A hash: the text may be longer than an ordered index takes.
create index order_links_by_key on sync.order_links using hash (sync.code_key(order_code));
comment on index sync.order_links_by_key is 'Other orders of the shop whose codes a service may hold for the same.';
