import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { presetFolder, readPresets } from '../../src/app/init/presets.ts';
import { openShop } from '../../src/shop/index.ts';
import { createDatabase, forgetDatabase, query } from '../harness/database.ts';
import { sampled } from '../harness/sampled.ts';
import { createMysqlDatabase, hasMariadb } from '../harness/servers.ts';

/**
 * The tables of a preset, with the orders of its large.sql, and the indexes that its README names. A table is large
 * from 20,000 rows on.
 */
async function statementsOf(name: string): Promise<{ schema: string; statements: string }> {
  const own = (file: string) => readFile(join(import.meta.dirname, name, file), 'utf8');
  const [schema, orders] = [await own('schema.sql'), await own('large.sql')];
  const readme = await readFile(join(presetFolder(name), 'README.md'), 'utf8');
  const indexes = [...readme.matchAll(/^ +(create index .+;)$/gm)].map(([, one = '']) =>
    one.replace('concurrently', ''),
  );
  return { schema, statements: `${schema} ${orders} ${indexes.join(' ')}` };
}

async function readsByIndex(url: string, name: string): Promise<void> {
  const shop = openShop({ url, sqlDir: presetFolder(name), connections: 1, timeZone: 'UTC' });
  onTestFinished(() => shop.close());
  const costs = await shop.queryCosts();
  expect(costs.length).toBeGreaterThan(4);
  expect(costs.flatMap(({ purpose, scans }) => scans.map(({ table }) => `${purpose}: ${table}`))).toEqual([]);
}

/** A preset whose twin has the same tables has no large.sql. */
const presets = (await readPresets()).filter(({ name }) => existsSync(join(import.meta.dirname, name, 'large.sql')));
const of = (dialect: string) => presets.flatMap(({ name, database }) => (database === dialect ? [name] : []));

test.each(sampled(of('postgres')))('in a large shop on %s each query reads by an index', async (name) => {
  const url = await createDatabase();
  onTestFinished(() => forgetDatabase(url));
  await query(url, `${(await statementsOf(name)).statements} analyze`);
  // As it is set for disks without moving parts. The rows of this test are narrow, and a scan of them costs little.
  await query(url, `alter database ${new URL(url).pathname.slice(1)} set random_page_cost = 1.1`);
  await readsByIndex(url, name);
});

test.skipIf(!hasMariadb).each(sampled(of('mysql')))(
  'in a large shop on %s on MariaDB each query reads by an index',
  async (name) => {
    const database = await createMysqlDatabase();
    const { schema, statements } = await statementsOf(name);
    const tables = [...schema.matchAll(/^create table (\S+)/gm)].map(([, table]) => table);
    const inUtc = `set sql_mode = ''; set time_zone = '+00:00'`;
    await database.query(`${inUtc}; ${statements} analyze table ${tables.join()}`);
    await readsByIndex(database.url, name);
  },
);
