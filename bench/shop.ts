import { parseArgs } from 'node:util';
import type pg from 'pg';
import { packagePath } from '../src/base/package-path.ts';
import { planChangedOrders } from '../src/orders/select/changed-orders.ts';
import { startEmbeddedDatabase } from '../src/sandbox/embedded-postgres/index.ts';
import { openShop, type Shop } from '../src/shop/index.ts';
import { openWarehouse } from '../src/warehouse/index.ts';
import { migrateWarehouse } from '../src/warehouse/migrate.ts';
import { advanceCursor } from '../src/warehouse/runs/cursors.ts';
import { query } from '../test/harness/database.ts';
import { pushChanged, usualRights } from '../test/harness/sync-orders.ts';
import { growShop, load, median as middle, openOrderDeps, say, startStub } from './stage.ts';

/**
 * What a run costs the shop, by the size of the shop: the sample shop grown by SQL, with the shipped queries. Each
 * figure is the median of several runs. Buffers are those that the shop's backend touched, from pg_stat_database of its
 * database.
 *
 *     npm run bench:shop -- --small 10000 --large 1000000
 */
const { values: given } = parseArgs({
  options: {
    small: { type: 'string', default: '10000' },
    large: { type: 'string', default: '1000000' },
    runs: { type: 'string', default: '5' },
    queries: { type: 'string', default: packagePath('sql', 'shop') },
  },
});
const runs = Number(given.runs);

await using opened = new AsyncDisposableStack();
const server = await startEmbeddedDatabase();
opened.defer(() => server.close());
// Pages that autovacuum reads would count as the run's.
for (const statement of ['alter system set autovacuum = off', 'select pg_reload_conf()'])
  await query(server.url('postgres'), statement);
const { origin } = await startStub(opened, 'stub-service.ts');

say(`load ${load()} at the beginning`);
const figures = [];
for (const size of [Number(given.small), Number(given.large)]) figures.push(await measure(size));
const [small, large] = figures;
if (small && large) {
  const ratio = (a: number, b: number) => (a / b).toFixed(2);
  say(
    `100 changed orders, large to small: ${ratio(large.run.ms, small.run.ms)} × wall time, ` +
      `${ratio(large.run.buffers, small.run.buffers)} × buffers`,
  );
}
say(`load ${load()} at the end`);

async function measure(size: number) {
  await using opened = new AsyncDisposableStack();
  const url = await server.createDatabase(`shop_${size}`);
  const began = performance.now();
  const { client } = await growShop(opened, url, size);
  say(`\n${size.toLocaleString('en')} orders (grown in ${((performance.now() - began) / 1000).toFixed(0)} s)`);

  const warehouseUrl = await server.createDatabase(`warehouse_${size}`);
  const warehouse = opened.use(await openWarehouse({ url: warehouseUrl, connections: 12 }));
  await migrateWarehouse(warehouse.db);
  const shop = openShop({ url, sqlDir: given.queries, connections: 1 });
  opened.defer(() => shop.close());
  await shop.checkQueries();
  const deps = openOrderDeps(opened, warehouse, origin);
  // Earlier orders were pushed by an earlier run, as far as the runs measured here can tell.
  await client.query(`update shop.orders set modified_at = now() - interval '3 days' where modified_at > now() - interval '3 days';
    update shop.order_items set modified_at = now() - interval '3 days' where modified_at > now() - interval '3 days';
    update shop.shipments set modified_at = now() - interval '3 days' where modified_at > now() - interval '3 days'`);
  await client.query('vacuum analyze');
  let ownBuffers = 0;
  ownBuffers = median([await cost(async () => {}), await cost(async () => {}), await cost(async () => {})]).buffers;
  const firstBatch = await cost(async (shop) => {
    await planChangedOrders({ shop, db: warehouse.db }, { lookbackMinutes: 10, batchSize: 50_000, isAnyTime: false });
  });
  const { rows } = await client.query<{ now: string }>('select now()::text as now');
  const now = new Date(rows[0]?.now ?? '').toISOString();
  await advanceCursor(warehouse.db, 'orders', { at: now, readTo: now });

  const run = (shop: Shop) => pushChanged({ ...deps, shop }, usualRights, 0);

  const idle = [];
  const kept = [];
  const changed = [];
  await cost(run);
  for (let n = 0; n < runs; n += 1) {
    // Past the instant of the last change, which the run reads again.
    await client.query('select pg_sleep(0.01)');
    idle.push(await cost(run));
    const two = await cost(async (shop) => {
      await run(shop);
      await run(shop);
    });
    kept.push({ ms: two.ms - (idle.at(-1)?.ms ?? 0), buffers: two.buffers - (idle.at(-1)?.buffers ?? 0) });
    const touched = await client.query(
      `update shop.order_items set unit_price = unit_price + 1, modified_at = clock_timestamp()
       where order_id in (select 100000000 + 1 + (k * ${Math.floor(size / 100)} + ${n * 7}) % ${size} from generate_series(0, 99) k)`,
    );
    const one = await cost(run);
    if (touched.rowCount !== 100) throw new Error(`${touched.rowCount} orders changed, expected 100`);
    changed.push(one);
  }
  const codes = Array.from({ length: 200 }, (_, n) => `G${1 + Math.floor((n * size) / 200)}`);
  // A run reads many slices over one connection: the first one is not counted.
  const slices: Cost[] = [];
  const one = await cost(() => shop.orders(codes));
  const many = await cost(async () => {
    await shop.orders(codes);
    for (let n = 0; n < runs; n += 1) {
      const began = performance.now();
      await shop.orders(codes);
      slices.push({ ms: performance.now() - began, buffers: 0 });
    }
  });
  const buffersASlice = Math.round((many.buffers - one.buffers) / runs);
  const result = {
    run: median(changed),
    idle: median(idle),
    kept: median(kept),
    slice: { ms: median(slices).ms, buffers: buffersASlice },
  };
  say(`  first batch of 50,000 planned in ${shown(firstBatch)}`);
  say(`  idle run:            ${shown(result.idle)}`);
  say(`    over a connection that the run before left: ${shown(result.kept)}`);
  say(`  100 changed orders:  ${shown(result.run)}`);
  say(`  200 orders by code:  ${shown(result.slice)}`);
  say(
    `  memory of this process: ${(process.memoryUsage().heapUsed / 1e6).toFixed(0)} MB heap, ` +
      `${(process.memoryUsage().rss / 1e6).toFixed(0)} MB resident`,
  );
  return result;

  /**
   * Wall time and buffers of the work with a new connection to the shop, as a command has one, and a worker that just
   * started.
   */
  async function cost(work: (shop: Shop) => Promise<unknown>): Promise<Cost> {
    await endConnections(client);
    const before = await buffers(client, url);
    const began = performance.now();
    await work(shop);
    const ms = performance.now() - began;
    await endConnections(client);
    // The reads of the count itself are subtracted.
    return { ms, buffers: (await buffers(client, url)) - before - ownBuffers };
  }
}

type Cost = { ms: number; buffers: number };
function shown({ ms, buffers }: Cost): string {
  return `${ms.toFixed(1)} ms, ${buffers.toLocaleString('en')} shop buffers`;
}

/** So that the next one is new. */
async function endConnections(client: pg.Client): Promise<void> {
  await client.query(
    `select pg_terminate_backend(pid, 5000) from pg_stat_activity where application_name = 'review-sync' and datname = current_database()`,
  );
}

/** The counts of all connections to the shop's database. A connection that ends hands in its counts. */
async function buffers(client: pg.Client, url: string): Promise<number> {
  await client.query('select pg_sleep(0.5)');
  await client.query('select pg_stat_force_next_flush()');
  await client.query('select pg_stat_clear_snapshot()');
  const { rows } = await client.query<{ n: string }>(
    'select blks_hit + blks_read as n from pg_stat_database where datname = $1',
    [new URL(url).pathname.slice(1)],
  );
  return Number(rows[0]?.n);
}

function median(all: readonly Cost[]): Cost {
  return { ms: middle(all.map(({ ms }) => ms)), buffers: middle(all.map(({ buffers: n }) => n)) };
}
