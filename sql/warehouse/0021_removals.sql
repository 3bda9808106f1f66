-- A run counts what it would remove at the service before it removes anything: each push only takes note of it, and the last
-- batch of the run removes it, or holds it back.
alter table sync.order_links
  add column removals_wanted integer not null default 0,
  add column removals_run text;
create index order_links_to_remove on sync.order_links (order_code) where removals_wanted > 0 and not removals_held;
comment on column sync.order_links.removals_wanted is 'How many sub-orders of the order are to be removed because the shop does not show their lines any more; 1 where the shop has deleted the order itself. The last batch of a run removes them, unless the run would remove far more than usual.';
comment on column sync.order_links.removals_run is 'The run that last took note of removals_wanted.';
comment on index sync.order_links_to_remove is 'What the last batch of a run removes.';
