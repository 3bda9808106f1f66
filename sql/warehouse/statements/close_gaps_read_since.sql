-- Closes each gap of the updated axis whose reviews were all read by their creation date since it was opened.
-- Indexes: reviews_by_creation, export_windows_by_span.
with oldest as (
  select least(
    (select min(created_at) from warehouse.reviews where deleted_at is null),
    (select first_review_created_at from warehouse.review_overview order by captured_at desc limit 1)
  ) as at
)
delete from sync.open_gaps g using oldest
where g.axis = 'updated' and g.end_at <= g.first_seen_at and tstzmultirange(tstzrange(oldest.at, g.end_at)) <@ (
  select coalesce(range_agg(tstzrange(w.start_at, w.end_at)), '{}') from sync.export_windows w
  where w.axis = 'created' and w.started_at > g.first_seen_at and w.end_at > w.start_at
)
  -- Without a review there is nothing that could have been read.
  and oldest.at < g.end_at
