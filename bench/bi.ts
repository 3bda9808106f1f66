/**
 * How long the views of bi and the questions of docs/questions take on a million reviews and a million delivered
 * sub-orders, with the rights of bi_reader; and what the index that serves them costs when reviews land. Prints its
 * tables and puts them into docs/benchmarks.md.
 *
 *   npm run bench:bi
 */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import pg from 'pg';
import { ask, readQuestions } from '../docs/warehouse-page/questions.ts';
import { startEmbeddedDatabase } from '../src/sandbox/embedded-postgres/index.ts';
import { prepareBi } from '../src/warehouse/bi.ts';
import { openWarehouse } from '../src/warehouse/index.ts';
import { migrateWarehouse } from '../src/warehouse/migrate.ts';
import { writeTable } from './table.ts';

const turns = [1, 2, 3];

/** What is asked of a view where it is not read whole: rows of it are for drilling down, not for a chart. */
const cuts: Readonly<Record<string, string>> = {
  reviews: `select product_code, count(*), avg(score) from bi.reviews where created_at >= '2025-06-01' group by 1`,
  sub_orders: `select status, count(*) from bi.sub_orders where delivered_at >= '2025-06-01' group by 1`,
  response_by_order:
    'select has_review, count(*), avg(days_from_delivery_to_review) from bi.response_by_order group by 1',
};

async function medianMs(run: () => Promise<unknown>): Promise<number> {
  const times: number[] = [];
  for (const _ of turns) {
    const startedMs = performance.now();
    await run();
    times.push(performance.now() - startedMs);
  }
  return times.sort((a, b) => a - b)[1] ?? 0;
}

async function viewsOf(client: pg.Client): Promise<string[]> {
  const { rows } = await client.query(
    `select relname from pg_class where relnamespace = 'bi'::regnamespace order by oid`,
  );
  return rows.map((row) => row.relname);
}

/** Milliseconds for 200 statements of 100 reviews into a table with the indexes of warehouse.reviews. */
async function landing(client: pg.Client, creation: string): Promise<number> {
  await client.query(`
    drop table if exists landed;
    create table landed (like warehouse.reviews including defaults);
    alter table landed add primary key (id);
    create index on landed (updated_at); create index on landed (product_code, created_at);
    ${creation.replace(/^CREATE INDEX \S+ ON \S+/, 'create index on landed')}; checkpoint`);
  const startedMs = performance.now();
  for (let at = 0; at < 20_000; at += 100) {
    await client.query('insert into landed select * from warehouse.reviews where id > $1 and id <= $2', [at, at + 100]);
  }
  return performance.now() - startedMs;
}

async function landingRatio(client: pg.Client): Promise<number> {
  const { rows } = await client.query(`select pg_get_indexdef('warehouse.reviews_by_creation'::regclass) as with`);
  const covering: string = rows[0].with;
  const ratios: number[] = [];
  for (const _ of turns) {
    const bare = await landing(client, covering.replace(/ INCLUDE .*$/, ''));
    ratios.push((await landing(client, covering)) / bare);
  }
  return ratios.sort((a, b) => a - b)[1] ?? 0;
}

const database = await startEmbeddedDatabase();
try {
  const url = await database.createDatabase('bi');
  const warehouse = await openWarehouse({ url, connections: 1 });
  await migrateWarehouse(warehouse.db);
  await prepareBi(warehouse, { timeZone: 'Asia/Seoul' });
  await warehouse.close();
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query(await readFile(join(import.meta.dirname, 'bi.sql'), 'utf8'));
  await client.query('vacuum (analyze)');

  const rows: string[][] = [];
  const time = async (what: string, sql: string) =>
    rows.push([what, Math.round(await medianMs(() => ask(client, sql))).toLocaleString('en')]);
  for (const view of await viewsOf(client)) await time(`\`bi.${view}\``, cuts[view] ?? `select * from bi.${view}`);
  for (const { file, question, sql } of await readQuestions()) await time(`${file.slice(0, 2)} ${question}`, sql);
  rows.push(['landing with the covering index, to without', (await landingRatio(client)).toFixed(2)]);
  await client.end();
  await writeTable('bi', 'npm run bench:bi', ['view or question', 'ms, median of 3'], rows);
} finally {
  await database.close();
}
