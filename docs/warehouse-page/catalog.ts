import type pg from 'pg';

export type Column = { name: string; type: string; comment: string | null };
export type Relation = { schema: string; name: string; comment: string | null; columns: Column[] };

/** The tables and views of a schema with their comments, in the order of their names. */
export async function readSchema(client: pg.Client, schema: string): Promise<Relation[]> {
  const { rows } = await client.query<Relation>(
    `select n.nspname as schema, c.relname as name,
      obj_description(c.oid, 'pg_class') as comment,
      jsonb_agg(jsonb_build_object(
        'name', a.attname,
        'type', replace(format_type(a.atttypid, a.atttypmod), 'timestamp with time zone', 'timestamptz'),
        'comment', col_description(c.oid, a.attnum)
      ) order by a.attnum) as columns
    from pg_class c
    join pg_namespace n on n.oid = c.relnamespace
    join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
    where n.nspname = $1 and c.relkind in ('r', 'v', 'm', 'p')
    group by n.nspname, c.oid, c.relname
    order by c.relname`,
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
