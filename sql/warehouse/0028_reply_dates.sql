-- The comments of reviews (0019_replies.sql). A date may also have an offset such as +0900, with a space before it, as
-- Ruby prints it.

-- The interface names no field of a comment, so the view tries the usual names.
create or replace view warehouse.review_comments as
select
  r.id as review_id,
  item.ordinality::integer as position,
  item.value ->> 'id' as id,
  item.value ->> 'user_code' as user_code,
  -- A day, with its time or without, of a year of four digits. Without an offset it is in the service's zone. Anything
  -- else that looks like a date, such as a time of day, counts as no date: an error would keep all comments out.
  case
    when found.at ~ '^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[+-]\d\d:\d\d$' then found.at::timestamptz
    when found.at ~ '^\d{4}-\d\d-\d\d(T\d\d:\d\d:\d\d)?$'
      then found.at::timestamp at time zone (select time_zone from sync.settings)
  end as created_at,
  case
    when item.value @? '$.keyvalue() ? (@.key like_regex "^(is_|by_)?(admin|shop|store|seller|manager|owner|staff)$" && @.value == true)'
      or item.value @? '$.keyvalue() ? (@.key like_regex "^((author|user|writer)_)?(type|role)$" && @.value like_regex "^(admin|shop|store|seller|manager|owner|staff|brand)$" flag "i")'
    then true
    when item.value @? '$.keyvalue() ? (@.key like_regex "^(is_|by_)?(admin|shop|store|seller|manager|owner|staff)$" && @.value == false)'
      or item.value @? '$.keyvalue() ? (@.key like_regex "^((author|user|writer)_)?(type|role)$" && @.value like_regex "^(user|member|customer|buyer|guest)$" flag "i")'
      or item.value ->> 'user_code' = r.user_code
      or item.value ->> 'user_id' = r.user_id::text
    then false
  end as is_by_shop,
  item.value as comment
from warehouse.reviews r
cross join lateral jsonb_path_query(r.extra, 'strict $.comments[*]', silent => true) with ordinality as item (value, ordinality)
cross join lateral (
  select jsonb_path_query_first_tz(
    to_jsonb(regexp_replace(
      regexp_replace(regexp_replace(upper(item.value ->> 'created_at'), '\.\d+', ''), ' ?Z$', '+00:00'),
      '(:\d\d) ?([+-]\d\d):?(\d\d)$', '\1\2:\3'
    )),
    'strict $.datetime()', silent => true
  ) #>> '{}' as at
) as found
where r.extra ? 'comments';
comment on view warehouse.review_comments is 'The comments on reviews as they were last read by the review''s id, one row a comment. Those of deleted and hidden reviews too. The interface does not say what a comment has, so the usual names are looked for; comment has all of it.';
comment on column warehouse.review_comments.review_id is 'The review, warehouse.reviews.id.';
comment on column warehouse.review_comments.position is 'Place in the review''s list, from 1.';
comment on column warehouse.review_comments.id is 'The service''s id of the comment; null: it shows none.';
comment on column warehouse.review_comments.user_code is 'The author''s shop account; null: it shows none.';
comment on column warehouse.review_comments.created_at is 'When it was written; null: it shows no date that can be read.';
comment on column warehouse.review_comments.is_by_shop is 'Whether the shop wrote it, as a field such as is_admin or author_type says. Not the shop: also the author of the review. Null: that cannot be told.';
comment on column warehouse.review_comments.comment is 'The comment as the service shows it, whole.';

create or replace view bi.replies as
select c.review_id, r.created_at as reviewed_at, c.position, c.created_at as replied_at, c.is_by_shop
from warehouse.review_comments c
join warehouse.reviews r on r.id = c.review_id
where r.deleted_at is null;
comment on view bi.replies is 'Comments on reviews, one row a comment, without text and author. A review that was commented on appears once its comments were read: see docs/warehouse.md.';
comment on column bi.replies.review_id is 'The review, bi.reviews.review_id.';
comment on column bi.replies.reviewed_at is 'When the review was written.';
comment on column bi.replies.position is 'Place among the comments on the review, from 1.';
comment on column bi.replies.replied_at is 'When the comment was written; null: the service shows no date that can be read.';
comment on column bi.replies.is_by_shop is 'Whether the shop wrote it; null: that cannot be told.';
