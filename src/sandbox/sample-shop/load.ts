import { readFile } from 'node:fs/promises';
import pg from 'pg';
import { UsageError } from '../../base/errors.ts';
import { packagePath } from '../../base/package-path.ts';
import type { SampleShop, ShopTables } from './generate.ts';

export type LoadOptions = {
  /** Drops a sample shop that is there already. */
  replace?: boolean;
};

/**
 * Puts the shop's tables into the schema `shop` of the database, all or nothing. The reviews stay outside: they belong
 * to the review service.
 *
 * @throws UsageError if the database has a schema `shop` and it is not to be replaced.
 */
export async function loadSampleShop(databaseUrl: string, shop: SampleShop, options: LoadOptions = {}): Promise<void> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    await client.query('begin');
    await makeRoom(client, options.replace === true);
    await client.query(await readFile(packagePath('src', 'sandbox', 'sample-shop', 'schema.sql'), 'utf8'));
    const tables = Object.keys(shop.tables) as (keyof ShopTables)[];
    const nameOf = (table: string) => `shop.${client.escapeIdentifier(table)}`;
    // Parents come before children: the order of ShopTables is the order of the foreign keys.
    for (const table of tables) {
      await client.query(
        `insert into ${nameOf(table)} select * from jsonb_populate_recordset(null::${nameOf(table)}, $1::text::jsonb)`,
        [JSON.stringify(shop.tables[table])],
      );
    }
    await client.query('commit');
    await client.query(`analyze ${tables.map(nameOf).join(', ')}`);
  } finally {
    await client.end();
  }
}

async function makeRoom(client: pg.Client, replace: boolean): Promise<void> {
  const { rowCount } = await client.query(`select from pg_namespace where nspname = 'shop'`);
  if (rowCount === 0) return;
  if (!replace) {
    throw new UsageError('The database has a schema "shop" already: the sample shop was not put in.', {
      hint: 'Choose an empty database, or say that the sample shop there is to be replaced.',
    });
  }
  await client.query('drop schema shop cascade');
}
