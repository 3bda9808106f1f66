-- An order that failed is pushed again by itself, with growing distance; removals that were held back stay so until
-- somebody allows them; a sub-order whose creation was sent twice is looked for once more.
alter table sync.order_links
  add column failed_pushes integer not null default 0,
  add column retry_at timestamptz,
  add column removals_held boolean not null default false;
create index order_links_to_retry on sync.order_links (retry_at) where retry_at is not null;
comment on index sync.order_links_to_retry is 'Orders to push again although the shop did not change them.';
comment on column sync.order_links.failures is 'How many records of the order (itself or lines) became dead letters at the last push. Above 0: an unchanged order does not close its dead letters.';
comment on column sync.order_links.failed_pushes is 'How many pushes of the order have failed one after the other since the shop last changed it.';
comment on column sync.order_links.retry_at is 'From then on the order is pushed again although the shop did not change it: its last push failed, or a creation was sent twice. Null: only a change of the order pushes it.';
comment on column sync.order_links.removals_held is 'Whether sub-orders stay at the service whose lines vanished together with far more than usual. They stay until the lines are back or --allow-removals is given.';

alter table sync.sub_order_links add column was_sent_again boolean not null default false;
comment on column sync.sub_order_links.was_sent_again is 'Whether the creation of the sub-order was sent a second time because the first brought no response. A second, equal sub-order may appear at the service; the next push looks for it.';
