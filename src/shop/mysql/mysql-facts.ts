import type { DriverConnection, ShopFacts } from '../driver.ts';

const ours = "('mysql', 'sys', 'information_schema', 'performance_schema')";

const writes = "p.privilege_type in ('INSERT', 'UPDATE', 'DELETE')";

/**
 * Tables that the user may write to. The tables of information_schema show a user its own rights; an administrator sees
 * all.
 */
const writable = `from information_schema.tables t
  where t.table_type = 'BASE TABLE' and t.table_schema not in ${ours} and (
    exists (select 1 from information_schema.user_privileges p where p.grantee = @grantee and ${writes})
    or exists (select 1 from information_schema.schema_privileges p
      where p.grantee = @grantee and t.table_schema like p.table_schema and ${writes})
    or exists (select 1 from information_schema.table_privileges p
      where p.grantee = @grantee and p.table_schema = t.table_schema and p.table_name = t.table_name
        and ${writes}))`;

export async function readMysqlFacts(run: DriverConnection['run']): Promise<ShopFacts> {
  // With its host, the user would be masked as an e-mail address.
  const name = "substring_index(current_user(), '@', 1)";
  const grantee = `concat(quote(${name}), '@', quote(substring_index(current_user(), '@', -1)))`;
  const ofUser = writable.replaceAll('@grantee', grantee);
  const [row] = await run(`select version() as version, ${name} as user`);
  const [right] = await run(`select count(*) as writable ${ofUser}`);
  const examples = await run(`select concat(t.table_schema, '.', t.table_name) as name ${ofUser} order by 1 limit 3`);
  const [mighty] = await run(
    `select count(*) as n from information_schema.user_privileges where grantee = ${grantee} and privilege_type = 'SUPER'`,
  );
  const engines = await run(
    `select t.table_name as name from information_schema.tables t join information_schema.engines e on e.engine = t.engine
     where t.table_schema = database() and t.table_type = 'BASE TABLE' and e.transactions = 'NO' order by 1`,
  );
  const version = row?.version ?? '';
  return {
    product: version.includes('MariaDB') ? 'MariaDB' : 'MySQL',
    version: version.split('-')[0] ?? '',
    user: row?.user ?? '',
    isSuperuser: Number(mighty?.n) > 0,
    writable: Number(right?.writable),
    examples: examples.flatMap(({ name }) => name ?? []),
    openSchemas: [],
    withoutSnapshot: engines.flatMap(({ name }) => name ?? []),
  };
}
