-- What reading again with age finds: reviews that came late, and reviews that may be gone.
comment on column sync.export_windows.end_at is 'Where the window ends: everything before this second was read. The second itself belongs to the window that begins with it.';
comment on column sync.export_windows.reviews is 'Different reviews that were dated within it, end_at left out.';
comment on column sync.export_windows.requests is 'Requests that reading it cost.';
comment on column sync.cursors.position is 'orders: at and code of the last order read. reviews: at, the newest update seen as the last run began, and readTo, the service''s clock then.';

create table sync.late_reviews (
  review_id bigint not null,
  dated_at  timestamptz not null,
  found_at  timestamptz not null default now(),
  run_id    text not null,
  primary key (review_id, dated_at)
);
create index late_reviews_by_find on sync.late_reviews (found_at);
comment on table sync.late_reviews is 'Reviews that the service showed after everything up to their own date had been read. What a reconcile found, the overlap of the incremental runs had missed.';
comment on column sync.late_reviews.review_id is 'The review, warehouse.reviews.id.';
comment on column sync.late_reviews.dated_at is 'Its updated_at then: it should have been seen at that time.';
comment on column sync.late_reviews.found_at is 'When it was brought in; the difference is its lateness.';
comment on column sync.late_reviews.run_id is 'The run in sync.runs that brought it.';

create table sync.absent_reviews (
  review_id       bigint primary key,
  run_id          text not null,
  readings        integer not null default 1,
  first_missed_at timestamptz not null default now(),
  last_missed_at  timestamptz not null default now()
);
create index absent_reviews_by_run on sync.absent_reviews (run_id);
comment on table sync.absent_reviews is 'Reviews of the warehouse that were not in a complete reading of their date. Only one that is missed twice and that the service answers with 404 is marked deleted_at.';
comment on column sync.absent_reviews.review_id is 'The review, warehouse.reviews.id.';
comment on column sync.absent_reviews.run_id is 'The run that missed it last.';
comment on column sync.absent_reviews.readings is 'How many runs have missed it.';
comment on column sync.absent_reviews.first_missed_at is 'When it was first missed.';
comment on column sync.absent_reviews.last_missed_at is 'When it was last missed.';

create or replace view warehouse.review_videos as
select
  r.id as review_id,
  item.ordinality::integer as position,
  item.value ->> 'hd_url' as hd_url,
  item.value ->> 'sd_url' as sd_url,
  r.synced_at + interval '7 days' as expires_at
from warehouse.reviews r
cross join lateral jsonb_array_elements(
  case jsonb_typeof(r.videos) when 'array' then r.videos else '[]' end
) with ordinality as item (value, ordinality);
comment on column warehouse.review_videos.expires_at is 'When the links expire: seven days after they were read.';
