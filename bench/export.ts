/**
 * How long `export parquet` takes and how much memory its process needs: for the first export, for one in which nothing
 * changed, and for one after one review changed. DuckDB reads the files and compares their sums with the warehouse.
 *
 *     npm run bench:export -- --rows 1000000 --months 12
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { startEmbeddedDatabase } from '../src/sandbox/embedded-postgres/index.ts';
import { prepareBi } from '../src/warehouse/bi/bi-access.ts';
import { recountAll } from '../src/warehouse/bi/recount.ts';
import { openWarehouse } from '../src/warehouse/index.ts';
import { migrateWarehouse } from '../src/warehouse/migrate.ts';
import { openDuck } from '../test/harness/servers.ts';
import { connect, environmentOf, main, runMeasured } from './stage.ts';

const { values: given } = parseArgs({
  options: { rows: { type: 'string', default: '100000' }, months: { type: 'string', default: '12' } },
});
const [rows, months] = [Number(given.rows), Number(given.months)];

await using opened = new AsyncDisposableStack();
const server = await startEmbeddedDatabase();
opened.defer(() => server.close());
const url = await server.createDatabase('export');
const warehouse = await openWarehouse({ url, connections: 1 });
await migrateWarehouse(warehouse.db);
await prepareBi(warehouse, { timeZone: 'Asia/Seoul' });
opened.defer(() => warehouse.close());
const client = await connect(opened, url);
const at = `timestamptz '2025-01-01 00:00+09' + n * (interval '${months} months' / ${rows + 1})`;
await client.query(`
  insert into sync.order_links (order_code, order_id, ordered_at) select 'order-' || n, n, ${at} from generate_series(1, ${rows}) n;
  insert into sync.sub_order_links (order_code, line_code, sub_order_id, content, is_ours, product_id, status, delivered_at)
  select 'order-' || n, '1', n, jsonb_build_object('price', n % 1000 * 100), true, n % 5000, 'delivery_finished', ${at} + interval '2 days'
  from generate_series(1, ${rows}) n;
  insert into sync.product_links (product_code, product_id) select 'product-' || n, n from generate_series(0, 4999) n;
  insert into warehouse.reviews (id, user_code, user_name, message, score, created_at, updated_at, product_id, product_code, review_type,
    images_count, videos_count, likes_count, plus_likes_count, comments_count, source, order_code, display, store_order)
  select n, 'member-' || n, 'Name ' || n, repeat('The colour is as in the picture. ', 10), 1 + n % 5, ${at}, ${at}, n % 5000,
    'product-' || n % 5000, 'text', n % 2, 0, n % 7, n % 3, 0, 'brand_pc', 'order-' || n, true, false
  from generate_series(1, ${rows}) n;
  analyze`);
await recountAll(warehouse.db);

const dir = await mkdtemp(join(tmpdir(), 'review-sync-bench-'));
opened.defer(() => rm(dir, { recursive: true }));

/** Seconds, and the highest memory of the process in MB. */
async function exportOnce(what: string): Promise<void> {
  const startedMs = performance.now();
  const args = [main, 'export', 'parquet', '--to', dir, '--json'];
  const { stdout, maxRssMb } = await runMeasured(args, environmentOf(url, 'http://127.0.0.1:1'));
  const seconds = (performance.now() - startedMs) / 1000;
  const { written, tables } = JSON.parse(stdout);
  const bytes = tables.reduce((sum: number, table: { bytes: number }) => sum + table.bytes, 0);
  process.stdout.write(
    `${what}: ${seconds.toFixed(1)} s, ${maxRssMb.toFixed(0)} MB, ${written.length} files written, ` +
      `all files ${(bytes / 1e6).toFixed(1)} MB, load ${loadavg()[0]?.toFixed(0)}\n`,
  );
}

await exportOnce(`${rows} reviews and ${rows} sub-orders, ${months} months, first export`);
await exportOnce('nothing changed');
await client.query(`update warehouse.reviews set score = 3 where id = 1;
  insert into sync.touches (record, dated_at, product_id) select 'review', created_at, product_id from warehouse.reviews where id = 1`);
await exportOnce('one review changed');

await using duck = await openDuck();
const [files] =
  await duck.rows(`select count(*)::varchar, sum(score)::varchar, sum(epoch_us(created_at)::hugeint)::varchar
  from read_parquet('${dir}/reviews/*/*.parquet')`);
const { rows: expected } = await client.query({
  text: `select count(*)::text, sum(score)::text, sum((extract(epoch from created_at) * 1000000)::bigint)::text from bi.reviews`,
  rowMode: 'array',
});
if (JSON.stringify(files) !== JSON.stringify(expected[0]))
  throw new Error(`${files} in the files, expected ${expected[0]}`);
process.stdout.write('the sums of the files are those of the warehouse\n');
