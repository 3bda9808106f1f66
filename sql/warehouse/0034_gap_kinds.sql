-- The kinds of open gaps say what they are: 'refused' also was a 5xx status, 'failed' the failed step of a run, and 'unreachable' no broken
-- connection. A gap on which the service fails is 'service-error' from its next attempt on.
alter table sync.open_gaps drop constraint open_gaps_kind_check;
update sync.open_gaps set kind = case kind
  when 'unreachable' then 'too-many'
  when 'implausible' then 'too-few'
  when 'unwritten' then 'dead-letter'
  when 'failed' then 'step-failed'
  else kind end;
alter table sync.open_gaps add constraint open_gaps_kind_check
  check (kind in ('refused', 'service-error', 'too-many', 'too-few', 'out-of-range', 'dead-letter', 'step-failed'));
comment on column sync.open_gaps.kind is 'refused (the service refuses the requests: 4xx), service-error (the service fails on them: 5xx, no or a malformed response), too-many (more reviews than any query shows), too-few (the service shows far fewer reviews than the warehouse has), out-of-range (the service shows dates that were not requested), dead-letter (contains reviews that cannot be written), step-failed (the step of a run failed before it read the span).';
