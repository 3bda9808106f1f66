-- What each process did of a run cost a write per step and was only shown. A process reports its own steps at /metrics.
drop table sync.run_parts;
