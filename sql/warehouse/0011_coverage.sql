-- Coverage is written once, for a span that was read and proven; what cannot be read is an open gap.
comment on table sync.export_windows is 'The coverage ledger. One row per span of reviews that was read completely, and proven: by the service''s own count, or by the page on which its list ends. Old neighbouring rows are joined into one.';
comment on column sync.export_windows.run_id is 'The run in sync.runs that read it; ''joined'' for rows that were joined.';
comment on column sync.export_windows.start_at is 'First second of the span.';
comment on column sync.export_windows.end_at is 'Where the span ends: everything before this second was read. The second itself belongs to the span that begins with it.';
comment on column sync.export_windows.pages is 'Pages that reading it took.';
comment on column sync.export_windows.finished_at is 'When the span was proven. All of its reviews are in the warehouse by then.';

create table sync.open_gaps (
  axis          text not null check (axis in ('created', 'updated')),
  start_at      timestamptz not null,
  end_at        timestamptz not null,
  kind          text not null check (kind in ('unreachable', 'out-of-range', 'refused', 'implausible', 'unwritten', 'failed')),
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
comment on column sync.open_gaps.kind is 'unreachable (more reviews than any query shows), out-of-range (the service shows dates that were not asked for), refused (the service refuses the requests), implausible (the service shows far fewer reviews than the warehouse holds), unwritten (holds reviews that are dead letters), failed (no usable response).';
comment on column sync.open_gaps.reason is 'The same as a sentence.';
comment on column sync.open_gaps.attempts is 'How often it was tried.';
comment on column sync.open_gaps.first_seen_at is 'When it could not be read for the first time.';
comment on column sync.open_gaps.last_tried_at is 'When it was tried last.';

comment on table sync.absent_reviews is 'Reviews of the warehouse that a proven reading of their date did not show. Each reconcile asks about all of them: one that a second reading lacks too and that the service answers with 404 is marked deleted_at, one that is found is removed from this table.';
comment on table sync.late_reviews is 'Reviews, or versions of reviews, whose own date lies in a span that had been proven before they were first shown: the service showed them late.';
