import { sql } from 'kysely';
import type { Warehouse } from './index.ts';

export type Rights = {
  /** Schemas in which every role of the database may create functions. Postgres 14 and older made `public` one. */
  openSchemas: string[];
  /** The search path of our connections: a pooler may drop the one we request. */
  searchPath: string;
  /** Our views that call a function of another schema, as `view calls function`. */
  foreignCalls: string[];
  /** Our functions without a search path. */
  unpinned: string[];
};

/** Facts that would let other roles of the database run code with our rights. Changes nothing. */
export async function readRights({ db }: Warehouse): Promise<Rights> {
  const { rows } = await sql<Rights>`
    with ours as (
      select oid from pg_namespace where nspname in ('sync', 'warehouse', 'bi')
    )
    select
      array(
        select n.nspname::text
        from pg_namespace n
        cross join lateral aclexplode(n.nspacl) as acl
        where acl.grantee = 0 and acl.privilege_type = 'CREATE'
        order by 1
      ) as "openSchemas",
      current_setting('search_path') as "searchPath",
      array(
        -- Built-in functions leave no dependency.
        select distinct format('%s calls %s', r.ev_class::regclass, p.oid::regprocedure)
        from pg_depend d
        join pg_rewrite r on r.oid = d.objid
        join pg_class c on c.oid = r.ev_class
        join pg_proc p on p.oid = d.refobjid
        where d.classid = 'pg_rewrite'::regclass and d.refclassid = 'pg_proc'::regclass
          and c.relnamespace in (select oid from ours) and p.pronamespace not in (select oid from ours)
        order by 1
      ) as "foreignCalls",
      array(
        select p.oid::regprocedure::text
        from pg_proc p
        where p.pronamespace in (select oid from ours)
          and not exists (select from unnest(p.proconfig) as setting where setting like 'search_path=%')
        order by 1
      ) as unpinned`.execute(db);
  const [row] = rows;
  if (!row) throw new Error('a select without from gave no row');
  return row;
}
