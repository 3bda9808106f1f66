import { readFile } from 'node:fs/promises';
import pg from 'pg';
import { UsageError } from '../../src/base/errors.ts';
import { packagePath } from '../../src/base/package-path.ts';
import { type OlistFile, olistFiles } from './files.ts';
import { type OlistRow, readOlistFile } from './read-csv.ts';

export type OlistCounts = { orders: number; lines: number; reviews: number };

export type LoadOlistOptions = {
  /** Drops the data set's tables if they are there already. */
  replace?: boolean;
};

/**
 * Puts the CSV files of the folder into tables of the database, all or nothing.
 *
 * @throws UsageError where a file is not as expected, or where the tables are there and not to be replaced.
 */
export async function loadOlist(
  databaseUrl: string,
  folder: string,
  options: LoadOlistOptions = {},
): Promise<OlistCounts> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    await client.query('begin');
    await makeRoom(client, options.replace === true);
    await client.query(await readFile(packagePath('examples', 'olist', 'schema.sql'), 'utf8'));
    for (const source of olistFiles) {
      for await (const rows of readOlistFile(folder, source)) await insert(client, source, rows);
    }
    await numberProducts(client);
    const counts = await count(client);
    await client.query('commit');
    await client.query(`analyze ${olistFiles.map(({ table }) => client.escapeIdentifier(table)).join(', ')}`);
    return counts;
  } finally {
    await client.end();
  }
}

async function makeRoom(client: pg.Client, replace: boolean): Promise<void> {
  const tables = olistFiles.map(({ table }) => table);
  const { rows } = await client.query<{ name: string }>(
    'select name from unnest($1::text[]) as name where to_regclass(quote_ident(name)) is not null',
    [tables],
  );
  if (rows.length === 0) return;
  if (!replace) {
    throw new UsageError(`The database has ${rows.map(({ name }) => name).join(', ')} already: nothing was loaded.`, {
      hint: 'Choose an empty database, or say that these tables are to be replaced.',
    });
  }
  await client.query(`drop table ${rows.map(({ name }) => client.escapeIdentifier(name)).join(', ')} cascade`);
}

async function insert(client: pg.Client, source: OlistFile, rows: readonly OlistRow[]): Promise<void> {
  const table = client.escapeIdentifier(source.table);
  const columns = Object.keys({ ...source.required, ...source.optional })
    .map((column) => client.escapeIdentifier(column))
    .join(', ');
  await client.query(
    `insert into ${table} (${columns}) select ${columns} from jsonb_populate_recordset(null::${table}, $1::text::jsonb)`,
    [JSON.stringify(rows)],
  );
}

/** The service's ids, as the reference service will know the products: a part of the data set may lack some of them. */
async function numberProducts(client: pg.Client): Promise<void> {
  await client.query(`
    insert into olist_products (product_id) select product_id from olist_order_items on conflict do nothing`);
  await client.query(`
    update olist_products p
    set service_product_id = numbered.place
    from (
      select product_id, row_number() over (order by product_id collate "C") as place from olist_products
    ) numbered
    where numbered.product_id = p.product_id`);
}

async function count(client: pg.Client): Promise<OlistCounts> {
  const { rows } = await client.query<OlistCounts>(`
    select
      (select count(*)::integer from olist_orders) as orders,
      (select count(*)::integer from olist_order_items) as lines,
      (select count(*)::integer from olist_order_reviews) as reviews`);
  return rows[0] ?? { orders: 0, lines: 0, reviews: 0 };
}
