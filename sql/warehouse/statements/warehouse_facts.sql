-- Facts about the warehouse, and the rights of the user who asks (src/warehouse/warehouse-facts.ts).
select split_part(current_setting('server_version'), ' ', 1) as version, current_user as user,
  current_setting('server_encoding') as encoding,
  jsonb_build_object(
    'used', (select count(*) from pg_stat_activity where backend_type = 'client backend'),
    'most', current_setting('max_connections')::integer
  ) as connections,
  current_setting('transaction_read_only')::boolean as "isReadOnly", has_database_privilege(current_database(), 'create') as "mayCreateSchemas",
  has_database_privilege(current_database(), 'temporary') as "mayCreateTemporary",
  array(
    select distinct c.relowner::regrole::text
    from pg_class c
    where c.relnamespace in (to_regnamespace('warehouse'), to_regnamespace('sync'), to_regnamespace('bi')) and c.relkind in ('r', 'p', 'v') and not pg_has_role(c.relowner, 'usage')
    order by 1
  ) as "otherOwners",
  array(
    select n.nspname::text
    from pg_namespace n
    cross join lateral aclexplode(n.nspacl) as acl
    where acl.grantee = 0 and acl.privilege_type = 'CREATE'
    order by 1
  ) as "openSchemas",
  current_setting('search_path') as "searchPath"
