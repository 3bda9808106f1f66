-- Comments on reviews. A list shows only their number. A review alone shows them, and extra keeps them as they came.
create table sync.comments_due (
  review_id bigint primary key,
  moves     integer not null default 1,
  moved_at  timestamptz not null,
  attempts  integer not null default 0,
  tried_at  timestamptz
);
comment on table sync.comments_due is 'Reviews whose number of comments has moved, and which are to be read by their id.';
comment on column sync.comments_due.review_id is 'The review, warehouse.reviews.id.';
comment on column sync.comments_due.moves is 'How often the number has moved since it came in here: one that moves while its review is read is read again.';
comment on column sync.comments_due.moved_at is 'When it last moved.';
comment on column sync.comments_due.attempts is 'How often the review was asked for in vain.';
comment on column sync.comments_due.tried_at is 'When it was last asked for in vain. Null: never.';
create index comments_due_by_turn on sync.comments_due (tried_at nulls first, moved_at desc, review_id desc);
comment on index sync.comments_due_by_turn is 'Those that were never tried, the newest first; then those whose last attempt is oldest.';
insert into sync.comments_due (review_id, moved_at)
select id, updated_at from warehouse.reviews where comments_count > 0 and deleted_at is null;

create index reviews_with_comments on warehouse.reviews (id) where extra ? 'comments';
comment on index warehouse.reviews_with_comments is 'The reviews whose comments were read.';
