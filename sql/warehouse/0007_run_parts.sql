-- Which process did how much of a run: written when a step ends, so that it can be seen while the run goes.
create table sync.run_parts (
  run_id   text not null,
  worker   text not null,
  steps    integer not null,
  counts   jsonb not null,
  first_at timestamptz not null,
  last_at  timestamptz not null,
  primary key (run_id, worker)
);
comment on table sync.run_parts is 'One row a run and process: its part of the run. A step that two processes did counts with both (one was taken for dead); what a killed process had landed of an unfinished step counts with none.';
comment on column sync.run_parts.run_id is 'The run in sync.runs.';
comment on column sync.run_parts.worker is 'The process: host:process id.';
comment on column sync.run_parts.steps is 'Steps that it brought to their end.';
comment on column sync.run_parts.counts is 'What these steps did, by kind.';
comment on column sync.run_parts.first_at is 'When the first of them ended, by the warehouse''s clock.';
comment on column sync.run_parts.last_at is 'When the last of them ended, by the warehouse''s clock.';
