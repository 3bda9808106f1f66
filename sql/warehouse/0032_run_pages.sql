-- What status and the page of a run show: waits, and facts that must stay fast with many orders and dead letters.
alter table sync.runs add column waits jsonb;
comment on column sync.runs.waits is 'Seconds that the run has waited, by what for. ceiling: REVIEW_API_REQUESTS_PER_SECOND; retry_after: the service asked for fewer requests; outage: the service failed or could not be reached; lease: another process had the lease of a record. A time in which several requests of one process waited counts once. Null: an earlier version recorded the run.';

create index dead_letters_by_last_failure on sync.dead_letters (last_failed_at);
comment on index sync.dead_letters_by_last_failure is 'Dead letters that a run left or tried again.';
create index dead_letters_by_first_failure on sync.dead_letters (first_failed_at);
comment on index sync.dead_letters_by_first_failure is 'Dead letters that a run found first.';

create index order_links_without_grade on sync.order_links (user_grade_code)
  where user_grade_code is not null and user_grade_id is null;
comment on index sync.order_links_without_grade is 'Orders whose member grade is not at the service yet.';

create index order_links_held on sync.order_links (order_code) where removals_held;
comment on index sync.order_links_held is 'Orders of which removals are held back.';
