import type pg from 'pg';
import type { QueryName } from './contract.ts';
import type { RawRow } from './rows.ts';

export type ShopFacts = {
  version: string;
  user: string;
  isSuperuser: boolean;
  /** Tables that the user may write to, and the names of the first three. */
  writable: number;
  examples: string[];
};

/** What the shop's database says of itself and of our rights in it. */
export async function readShopFacts(client: pg.ClientBase): Promise<ShopFacts> {
  const { rows } = await client.query<Record<'version' | 'user' | 'super' | 'writable' | 'examples', string>>(`
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
      (select to_json(array(select name from writable order by name limit 3))) as examples`);
  const [row] = rows;
  if (!row) throw new Error('a select without from gave no row');
  return {
    version: row.version.split(' ')[0] ?? '',
    user: row.user,
    isSuperuser: row.super === 'true',
    writable: Number(row.writable),
    examples: JSON.parse(row.examples),
  };
}

/** The newest rows where the query tells which those are, else any. */
export async function readSample(
  client: pg.ClientBase,
  query: { name: QueryName; sql: string },
  limit: number,
): Promise<RawRow[]> {
  const order = query.name === 'orders' ? 'order by q.updated_at desc nulls last' : '';
  return (await client.query<RawRow>(`select q.* from (${query.sql}) q ${order} limit $1`, [limit])).rows;
}
