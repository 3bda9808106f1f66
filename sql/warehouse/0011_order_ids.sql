-- A service may hold two codes of the shop for one. Then both have one order there, which must not get the lines of
-- both.
create index order_links_by_id on sync.order_links (order_id) where order_id is not null;
comment on index sync.order_links_by_id is 'Other codes of the shop that are linked to the same order of the service.';
