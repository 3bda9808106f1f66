import type pg from 'pg';

export type Column = { name: string; type: string; comment: string | null; isKey: boolean };
export type Relation = { schema: string; name: string; kind: string; comment: string | null; columns: Column[] };

/** The tables and views of a schema with their comments, in the order in which the migrations made them. */
export async function readSchema(client: pg.Client, schema: string): Promise<Relation[]> {
  const { rows } = await client.query<Relation>(
    `select n.nspname as schema, c.relname as name, case c.relkind when 'r' then 'table' else 'view' end as kind,
      obj_description(c.oid, 'pg_class') as comment,
      jsonb_agg(jsonb_build_object(
        'name', a.attname,
        'type', replace(format_type(a.atttypid, a.atttypmod), 'timestamp with time zone', 'timestamptz'),
        'comment', col_description(c.oid, a.attnum),
        'isKey', coalesce(a.attnum = any (k.conkey), false)
      ) order by a.attnum) as columns
    from pg_class c
    join pg_namespace n on n.oid = c.relnamespace
    join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
    left join pg_constraint k on k.conrelid = c.oid and k.contype = 'p'
    where n.nspname = $1 and c.relkind in ('r', 'v', 'm', 'p')
    group by n.nspname, c.oid, c.relname, c.relkind
    order by c.oid`,
    [schema],
  );
  return rows;
}

export async function schemaComment(client: pg.Client, schema: string): Promise<string> {
  const { rows } = await client.query(`select obj_description(to_regnamespace($1), 'pg_namespace') as comment`, [
    schema,
  ]);
  return rows[0]?.comment ?? '';
}

export type Link = { from: string; to: string; by: readonly string[]; many: '0..1' | '0..n' };

/** Foreign keys, should there be any: reviews come in any order, so what belongs together is hardly ever declared. */
export async function foreignKeys(client: pg.Client): Promise<Link[]> {
  const { rows } = await client.query<Link>(
    `select confrelid::regclass::text as from, conrelid::regclass::text as to, '0..n' as many,
      (
        select jsonb_agg(a.attname order by a.attnum) from pg_attribute a
        where a.attrelid = conrelid and a.attnum = any (conkey)
      ) as by
    from pg_constraint
    where contype = 'f' and connamespace::regnamespace::text in ('warehouse', 'sync', 'bi')
    order by 1, 2`,
  );
  return rows;
}
