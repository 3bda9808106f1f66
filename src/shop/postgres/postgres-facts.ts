import type { DriverConnection, ShopFacts } from '../driver.ts';

export async function readPostgresFacts(run: DriverConnection['run']): Promise<ShopFacts> {
  const [row] = await run(`
    with writable as (
      select c.oid::regclass::text as name
      from pg_class c
      join pg_namespace n on n.oid = c.relnamespace
      where c.relkind in ('r', 'p') and n.nspname !~ '^(pg_|information_schema$)'
        and has_schema_privilege(n.oid, 'usage')
        and has_table_privilege(c.oid, 'insert, update, delete, truncate')
    )
    select current_setting('server_version') as version, current_user as user,
      (select rolsuper from pg_roles where rolname = current_user)::text as super,
      (select count(*) from writable) as writable,
      (select to_json(array(
        select distinct n.nspname
        from pg_namespace n
        cross join lateral aclexplode(n.nspacl) as acl
        where n.nspname = any(current_schemas(false)) and acl.grantee = 0 and acl.privilege_type = 'CREATE'
        order by 1
      ))) as open,
      (select to_json(array(select name from writable order by name limit 3))) as examples`);
  return {
    product: 'Postgres',
    version: row?.version?.split(' ')[0] ?? '',
    user: row?.user ?? '',
    isSuperuser: row?.super === 'true',
    writable: Number(row?.writable),
    examples: JSON.parse(row?.examples ?? '[]'),
    openSchemas: JSON.parse(row?.open ?? '[]'),
    withoutSnapshot: [],
  };
}
