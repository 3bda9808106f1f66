-- Least power: what a role that may only read `bi` can do must not stop or steer review-sync.

-- Locks as rows: whoever has no right on this table cannot take them. pg_advisory_lock is open to every role of the
-- database, on any key.
create table sync.locks (
  name text primary key
);
comment on table sync.locks is 'One row for each thing that one process does at a time. A process locks the row (select … for update) for the length of its transaction.';
comment on column sync.locks.name is 'alerts: compare the issues with sync.alerts and send messages. bi: grant the role bi_reader its rights.';
insert into sync.locks (name) values ('alerts'), ('bi');

-- Functions keep the search path of their caller unless they name one: a function in another schema could then take the
-- place of a built-in one.
do $$
declare
  ours regprocedure;
begin
  for ours in
    select p.oid
    from pg_catalog.pg_proc p
    join pg_catalog.pg_namespace n on n.oid = p.pronamespace
    where n.nspname in ('sync', 'warehouse', 'bi') and p.prokind in ('f', 'p')
      and not exists (select from unnest(p.proconfig) as setting where setting like 'search_path=%')
  loop
    execute format('alter routine %s set search_path = pg_catalog, pg_temp', ours);
  end loop;
end
$$;
