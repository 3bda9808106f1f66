-- Every run has an id of its own. What runs have in common, so that one continues the other, is their key.
alter table sync.runs
  add column key    text,
  add column reason text check (reason in ('steps-failed', 'problem', 'dead-letters'));
comment on column sync.runs.id is 'The id of the run''s job in the queue; no two runs ever have the same.';
comment on column sync.runs.key is 'What the run is about, where runs of the same key continue each other: a backfill and its range of days; null otherwise.';
comment on column sync.runs.reason is 'Why an incomplete run is incomplete: steps-failed (some of its steps failed; the next run reads them again), problem (all steps succeeded, and the end of the run could not be completed), dead-letters (nothing but records that could not be synced); null otherwise. Where several hold, the first.';

-- Until now a backfill's id was its key.
update sync.runs set key = id where job in ('backfill-orders', 'backfill-reviews');
update sync.runs set reason = 'dead-letters'
where outcome = 'incomplete' and error ~ '^\d+ records could not be synced; see';

create index runs_by_key on sync.runs (key, started_at) where key is not null;
comment on index sync.runs_by_key is 'The runs that a run continues.';
