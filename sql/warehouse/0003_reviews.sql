-- Reviews as the service holds them (schema warehouse), then the state of reading them (schema sync): which spans were
-- read completely, which could not be read and what may be gone.
create schema warehouse;
comment on schema warehouse is 'Reviews as the review service holds them, for people and BI tools.';

create table warehouse.reviews (
  id               bigint primary key,
  code             text,
  display          boolean,
  user_id          bigint,
  user_code        text,
  user_name        text,
  message          text,
  score            smallint,
  created_at       timestamptz not null,
  updated_at       timestamptz not null,
  product_id       bigint,
  product_code     text,
  review_type      text,
  images_count     integer,
  videos_count     integer,
  likes_count      integer,
  plus_likes_count integer,
  comments_count   integer,
  source           text,
  order_code       text,
  sub_order_code   text,
  store_order      boolean,
  store_name       text,
  third_party_name text,
  sub_brand_id     bigint,
  tag_name         text,
  product_options  jsonb,
  images           jsonb,
  videos           jsonb,
  options          jsonb,
  extra            jsonb not null default '{}',
  deleted_at       timestamptz,
  first_seen_at    timestamptz not null default now(),
  synced_at        timestamptz not null default now()
);
-- lz4 loads the lists a third faster than the default. Not every server is built with lz4, so it is set if the server
-- has it.
do $$
declare
  list text;
begin
  foreach list in array '{product_options,images,videos,options,extra}'::text[] loop
    execute format('alter table warehouse.reviews alter column %I set compression lz4', list);
  end loop;
exception
  when feature_not_supported or invalid_parameter_value then null;
end
$$;
-- With these columns in the index, most views of bi read the index alone: a fifth of the table's size.
create index reviews_by_creation on warehouse.reviews (created_at) include (
  deleted_at, display, score, product_id, product_code, review_type, images_count, videos_count, source, order_code
);
comment on table warehouse.reviews is 'One row per review of the service, in its newest version. Filter on deleted_at is null for those that still exist.';
comment on column warehouse.reviews.id is 'The service''s id of the review.';
comment on column warehouse.reviews.code is 'The shop-side identifier, where the review has one.';
comment on column warehouse.reviews.display is 'Whether the review is displayed.';
comment on column warehouse.reviews.user_id is 'The service''s id of the author.';
comment on column warehouse.reviews.user_code is 'The author''s shop account; null for a non-member.';
comment on column warehouse.reviews.user_name is 'The author''s name.';
comment on column warehouse.reviews.message is 'The text of the review, without HTML.';
comment on column warehouse.reviews.created_at is 'When the review was written.';
comment on column warehouse.reviews.updated_at is 'When it last changed at the service.';
comment on column warehouse.reviews.product_id is 'The service''s id of the product.';
comment on column warehouse.reviews.product_code is 'The shop''s code of the product.';
comment on column warehouse.reviews.review_type is 'text, photo, video or video&photo.';
comment on column warehouse.reviews.images_count is 'Number of images.';
comment on column warehouse.reviews.videos_count is 'Number of videos.';
comment on column warehouse.reviews.likes_count is 'Helpful and not-helpful votes together.';
comment on column warehouse.reviews.plus_likes_count is 'Helpful votes.';
comment on column warehouse.reviews.comments_count is 'Number of comments.';
comment on column warehouse.reviews.source is 'Where the review came from, such as brand_pc or sms.';
comment on column warehouse.reviews.order_code is 'The shop''s code of the order it is about.';
comment on column warehouse.reviews.sub_order_code is 'The code of the sub-order it is about.';
comment on column warehouse.reviews.store_order is 'Whether that order was made in an offline store.';
comment on column warehouse.reviews.store_name is 'Name of that store.';
comment on column warehouse.reviews.third_party_name is 'External partner the review came through.';
comment on column warehouse.reviews.sub_brand_id is 'Sub-brand, where the shop has any.';
comment on column warehouse.reviews.tag_name is 'Tag of the review.';
comment on column warehouse.reviews.product_options is 'Options chosen at purchase, name to value.';
comment on column warehouse.reviews.images is 'List of images with their addresses and sizes; see the view review_images.';
comment on column warehouse.reviews.videos is 'List of videos; links expire seven days after synced_at. See the view review_videos.';
comment on column warehouse.reviews.options is 'List of additional information; see the view review_options.';
comment on column warehouse.reviews.extra is 'Every field of the responses that has no column: nothing is dropped. A field that lists do not show stays as it was last shown. A character that Postgres cannot store (NUL, half a surrogate pair) is U+FFFD.';
comment on column warehouse.reviews.deleted_at is 'When the review was found to be gone from the service; null while it is there, and again once the service shows it again.';
comment on column warehouse.reviews.first_seen_at is 'When review-sync first wrote this row.';
comment on column warehouse.reviews.synced_at is 'When review-sync last wrote this row.';
comment on index warehouse.reviews_by_creation is 'Windows by creation; and, with the columns that go with it, most of bi without the table.';

-- The lists of a review as rows.

create view warehouse.review_videos as
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
comment on view warehouse.review_videos is 'The videos of the reviews, one row a video. Those of deleted and hidden reviews too: deleted_at and display are in the table reviews.';
comment on column warehouse.review_videos.review_id is 'The review, warehouse.reviews.id.';
comment on column warehouse.review_videos.position is 'Place in the review''s list, from 1.';
comment on column warehouse.review_videos.hd_url is 'High definition; expires seven days after the review''s synced_at.';
comment on column warehouse.review_videos.sd_url is 'Standard definition; expires seven days after the review''s synced_at.';
comment on column warehouse.review_videos.expires_at is 'When the links expire: seven days after they were read.';

create view warehouse.review_options as
select
  r.id as review_id,
  item.ordinality::integer as position,
  item.value ->> 'id' as id,
  item.value ->> 'review_option_type_id' as review_option_type_id,
  item.value ->> 'value' as value,
  item.value ->> 'option_type_name' as option_type_name,
  item.value ->> 'value_text' as value_text,
  item.value ->> 'created_at' as created_at,
  item.value ->> 'updated_at' as updated_at
from warehouse.reviews r
cross join lateral jsonb_array_elements(
  case jsonb_typeof(r.options) when 'array' then r.options else '[]' end
) with ordinality as item (value, ordinality);
comment on view warehouse.review_options is 'The additional information of the reviews, one row an item. Those of deleted and hidden reviews too: deleted_at and display are in the table reviews.';
comment on column warehouse.review_options.review_id is 'The review, warehouse.reviews.id.';
comment on column warehouse.review_options.position is 'Place in the review''s list, from 1.';
comment on column warehouse.review_options.id is 'The service''s id of the item.';
comment on column warehouse.review_options.review_option_type_id is 'Type of the additional field.';
comment on column warehouse.review_options.value is 'What was answered.';
comment on column warehouse.review_options.option_type_name is 'Name of the additional field (v2 form only).';
comment on column warehouse.review_options.value_text is 'The answer as text (v2 form only).';
comment on column warehouse.review_options.created_at is 'When it was answered, as the service sent it.';
comment on column warehouse.review_options.updated_at is 'When it changed, as the service sent it.';

create table warehouse.review_overview (
  captured_at             timestamptz primary key,
  first_review_created_at timestamptz,
  last_review_created_at  timestamptz
);
comment on table warehouse.review_overview is 'The bounds of the service''s reviews, one row per capture of the last 90 days.';
comment on column warehouse.review_overview.captured_at is 'When the service was asked.';
comment on column warehouse.review_overview.first_review_created_at is 'Creation of the oldest review; null while there is none.';
comment on column warehouse.review_overview.last_review_created_at is 'Creation of the newest review; null while there is none.';

create table warehouse.product_ratings (
  product_id         bigint primary key,
  product_code       text,
  reviews_count      integer not null,
  score              numeric,
  meta_reviews_count integer,
  meta_score         numeric,
  received_at        timestamptz not null
);
comment on table warehouse.product_ratings is 'The newest summary of each product that a webhook brought.';
comment on column warehouse.product_ratings.product_id is 'The service''s id of the product.';
comment on column warehouse.product_ratings.product_code is 'The shop''s code of the product.';
comment on column warehouse.product_ratings.reviews_count is 'Number of reviews.';
comment on column warehouse.product_ratings.score is 'Average rating.';
comment on column warehouse.product_ratings.meta_reviews_count is 'Number of reviews, set products included.';
comment on column warehouse.product_ratings.meta_score is 'Average rating, set products included.';
comment on column warehouse.product_ratings.received_at is 'When the summary came.';

-- The state of reading reviews. A span that was read and proven is a row of sync.export_windows. A span that cannot be
-- read or proven is a row of sync.open_gaps.
create table sync.export_windows (
  id          bigint generated always as identity primary key,
  run_id      text not null,
  axis        text not null check (axis in ('created', 'updated')),
  start_at    timestamptz not null,
  end_at      timestamptz not null check (end_at >= start_at),
  pages       integer not null,
  reviews     integer not null,
  requests    integer not null,
  started_at  timestamptz not null,
  finished_at timestamptz not null
);
create index export_windows_by_span on sync.export_windows (axis, start_at, end_at);
create index export_windows_by_run on sync.export_windows (run_id);
comment on table sync.export_windows is 'The coverage ledger. One row per span of reviews that was read completely, and proven: by the service''s own count, or by the page on which its list ends. A row is deleted some weeks later, when the span was read again.';
comment on column sync.export_windows.id is 'Order in which windows were recorded.';
comment on column sync.export_windows.run_id is 'The run in sync.runs that read it.';
comment on column sync.export_windows.axis is 'created or updated: which date of the reviews the window is over.';
comment on column sync.export_windows.start_at is 'First second of the span.';
comment on column sync.export_windows.end_at is 'Where the span ends: everything before this second was read. The second itself belongs to the span that begins with it.';
comment on column sync.export_windows.pages is 'Pages that reading it took.';
comment on column sync.export_windows.reviews is 'Different reviews that were dated within it, end_at left out.';
comment on column sync.export_windows.requests is 'Requests that reading it cost.';
comment on column sync.export_windows.started_at is 'When its first request was sent.';
comment on column sync.export_windows.finished_at is 'When the span was proven. All of its reviews are in the warehouse by then.';
comment on index sync.export_windows_by_span is 'What was read of a span.';
comment on index sync.export_windows_by_run is 'The windows of a run.';

create table sync.open_gaps (
  axis          text not null check (axis in ('created', 'updated')),
  start_at      timestamptz not null,
  end_at        timestamptz not null,
  kind          text not null check (kind in ('refused', 'failed', 'too-many', 'unproven')),
  reason        text not null,
  attempts      integer not null default 1,
  first_seen_at timestamptz not null default now(),
  last_tried_at timestamptz not null default now(),
  primary key (axis, start_at, end_at),
  check (end_at > start_at)
);
comment on table sync.open_gaps is 'Spans of reviews that could not be read or proven, although everything around them was. Each is read again by later runs, less often the more often it failed, and leaves the table when it is proven.';
comment on column sync.open_gaps.axis is 'created or updated: which date of the reviews the span is over.';
comment on column sync.open_gaps.start_at is 'First second of the gap.';
comment on column sync.open_gaps.end_at is 'Where the gap ends, the second itself left out.';
comment on column sync.open_gaps.kind is 'refused (the service refuses the requests: 4xx), failed (the service fails on them: 5xx, no or a malformed response; or the step of a run failed), too-many (more reviews than any query shows), unproven (the list changed at each reading).';
comment on column sync.open_gaps.reason is 'The same as a sentence.';
comment on column sync.open_gaps.attempts is 'How often it was tried.';
comment on column sync.open_gaps.first_seen_at is 'When it could not be read for the first time.';
comment on column sync.open_gaps.last_tried_at is 'When it was tried last.';

create table sync.absent_reviews (
  review_id bigint primary key,
  run_id    text not null,
  missed_at timestamptz not null default now()
);
comment on table sync.absent_reviews is 'Reviews of the warehouse that a proven reading of their date did not show. A reconcile asks for them by their id: one that the service answers with 404 twice is marked deleted_at; one that it knows is stored as shown, and leaves the table, as does one that a list shows.';
comment on column sync.absent_reviews.review_id is 'The review, warehouse.reviews.id.';
comment on column sync.absent_reviews.run_id is 'The run that missed it first.';
comment on column sync.absent_reviews.missed_at is 'When that was.';
