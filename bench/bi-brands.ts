/**
 * What questions of bi about one of five brands cost, compared with the same reviews alone in a database: with the
 * views of the brand (`bi_b1`), and with those over all brands and `brand = 'b1'`.
 *
 *   npm run bench:bi-brands                         a million reviews each
 *   npm run bench:bi-brands -- --reviews 200000
 */
import { tmpdir } from 'node:os';
import { parseArgs } from 'node:util';
import { ask, readQuestions } from '../docs/warehouse-page/questions.ts';
import { startEmbeddedDatabase } from '../src/sandbox/embedded-postgres/index.ts';
import { makeUnion } from '../src/warehouse/bi/all-brands.ts';
import { prepareBi } from '../src/warehouse/bi/bi-access.ts';
import { recountAll } from '../src/warehouse/bi/recount.ts';
import { inBrand } from '../src/warehouse/brand.ts';
import { openWarehouse } from '../src/warehouse/index.ts';
import { migrateWarehouse } from '../src/warehouse/migrate.ts';
import { query } from '../test/harness/database.ts';
import { scheduleOf } from './processor-time.ts';
import { connectToOne, fillingSql } from './stage.ts';

const { values: given } = parseArgs({ options: { reviews: { type: 'string', default: '1000000' } } });
const brands = ['b1', 'b2', 'b3', 'b4', 'b5'];
await using opened = new AsyncDisposableStack();
const server = await startEmbeddedDatabase({ temporaryIn: tmpdir(), settings: ['shared_buffers=1GB', 'jit=off'] });
opened.defer(() => server.close());
const text = await fillingSql(Number(given.reviews), 5000, '2022-01-01T00:00:00Z');

async function fill(url: string, brand?: string): Promise<void> {
  await using warehouse = await openWarehouse({ url, connections: 1, brand, silenceMs: 0 });
  await migrateWarehouse(warehouse.db);
  await prepareBi(warehouse, { timeZone: 'Asia/Seoul' });
  await query(url, brand === undefined ? text : inBrand(text, brand));
  await recountAll(warehouse.db);
  await query(url, 'vacuum (analyze)');
}

const [aloneUrl, brandsUrl] = [await server.createDatabase('alone'), await server.createDatabase('brands')];
await fill(aloneUrl);
for (const brand of brands) await fill(brandsUrl, brand);
await using unbranded = await openWarehouse({ url: brandsUrl, connections: 1 });
await makeUnion(unbranded.db, 'b1');
const [alone, among] = [await connectToOne(opened, aloneUrl), await connectToOne(opened, brandsUrl)];

/** A question to `bi` about one brand: each view that it names, without its column `brand`. */
async function ofOneBrand(sql: string): Promise<string> {
  const names = [...new Set([...sql.matchAll(/\bbi\.(\w+)/g)].map(([, name = '']) => name))];
  const views = names.map(async (name) => {
    const { rows } = await among.client.query<{ list: string }>(
      `select string_agg(quote_ident(attname), ', ' order by attnum) as list from pg_attribute where attrelid = $1::regclass and attnum > 1`,
      [`bi.${name}`],
    );
    return `of_b1_${name} as not materialized (select ${rows[0]?.list} from bi.${name} where brand = 'b1')`;
  });
  const asked = sql.replaceAll(/\bbi\.(\w+)/g, 'of_b1_$1').replace(/;\s*$/, '');
  const list = (await Promise.all(views)).join(', ');
  return /^\s*with\s/i.test(asked) ? asked.replace(/^\s*with\s/i, `with ${list}, `) : `with ${list} ${asked}`;
}

async function secondsOf({ client, pid }: typeof alone, sql: string): Promise<number> {
  const before = await scheduleOf(pid);
  await ask(client, sql);
  return (await scheduleOf(pid)).ran - before.ran;
}

const sums = [0, 0, 0];
for (const { file, question, sql } of await readQuestions()) {
  const ways = [[alone, sql] as const, [among, inBrand(sql, 'b1')] as const, [among, await ofOneBrand(sql)] as const];
  const least = ways.map(() => Number.POSITIVE_INFINITY);
  for (let turn = 0; turn < 7; turn += 1) {
    for (const [at, [where, asked]] of ways.entries()) {
      least[at] = Math.min(least[at] ?? 0, await secondsOf(where, asked));
    }
  }
  for (const [at, seconds] of least.entries()) sums[at] = (sums[at] ?? 0) + seconds;
  console.log(`${least.map((one) => `${(1000 * one).toFixed(1)} ms`).join('  ')}  ${file.slice(0, 2)} ${question}`);
}
const [base = 1, own = 0, all = 0] = sums;
console.log(
  `together: alone ${(1000 * base).toFixed(0)} ms, bi_b1 ${(own / base).toFixed(3)}, bi with brand = 'b1' ${(all / base).toFixed(3)}`,
);
