-- Creates the role bi_reader if this user may, and lets it read every view of bi and nothing else. Safe to run again:
-- views that were added since are opened too. It is not a migration, because the role belongs to the server: databases
-- share it, and an administrator may create it after the migration ran.
do $$
begin
  -- Two sessions at once would write the same row of the catalog, which Postgres refuses.
  perform from sync.settings for update;
  if to_regrole('bi_reader') is null then
    begin
      create role bi_reader nologin;
      comment on role bi_reader is 'May read the views of bi of review-sync, which show no member. Grant it to analysts and BI tools.';
    exception
      -- Another database's migration created it just now.
      when duplicate_object or unique_violation then null;
      when insufficient_privilege then
        raise notice 'this user may not create roles: have an administrator run "create role bi_reader nologin", then migrate again';
    end;
  end if;
  if to_regrole('bi_reader') is not null then
    grant usage on schema bi to bi_reader;
    grant select on all tables in schema bi to bi_reader;
  end if;
end
$$;
