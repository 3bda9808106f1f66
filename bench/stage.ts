/** Parts that several benches use. All of them end with the stack that is given. */
import { type ChildProcess, execFile, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import pLimit from 'p-limit';
import pg from 'pg';
import { openLog } from '../src/base/log.ts';
import { packagePath } from '../src/base/package-path.ts';
import { defaultLimits } from '../src/orders/limits.ts';
import type { OrderDeps } from '../src/orders/order-deps.ts';
import { migrateQueue } from '../src/queue/connection.ts';
import { openReviewApi } from '../src/review-api/index.ts';
import { startEmbeddedDatabase } from '../src/sandbox/embedded-postgres/index.ts';
import { generateSampleShop } from '../src/sandbox/sample-shop/generate.ts';
import { growSampleShop } from '../src/sandbox/sample-shop/grow.ts';
import { loadSampleShop } from '../src/sandbox/sample-shop/load.ts';
import { openWarehouse, type Warehouse } from '../src/warehouse/index.ts';
import { migrateWarehouse } from '../src/warehouse/migrate.ts';
import { openOrderStore } from '../src/warehouse/orders/order-store.ts';
import { query } from '../test/harness/database.ts';
import type { StubReport, StubReviews } from './review-stub.ts';

export const say = (text: string) => process.stdout.write(`${text}\n`);
export const load = () => loadavg()[0]?.toFixed(1);
export const median = (values: readonly number[]) => values.toSorted((a, b) => a - b)[values.length >> 1] ?? 0;

/** A connection that ends with the stack. The server may end before it. */
export async function connect(opened: AsyncDisposableStack, connectionString: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString });
  client.on('error', () => {});
  await client.connect();
  opened.defer(() => client.end());
  return client;
}

/** The same, of one server process whose time can be taken. */
export async function connectToOne(
  opened: AsyncDisposableStack,
  url: string,
): Promise<{ client: pg.Client; pid: number }> {
  const client = await connect(opened, url);
  await client.query('set max_parallel_workers_per_gather = 0');
  return { client, pid: (await client.query('select pg_backend_pid() as pid')).rows[0].pid };
}

/** A stub in a process of its own. `ask`: sends it a message, and gives its response. */
export async function startStub<Message extends object, Reply>(opened: AsyncDisposableStack, file: string) {
  const stub: ChildProcess = fork(join(import.meta.dirname, file));
  opened.defer(() => void stub.kill());
  const [port] = (await once(stub, 'message')) as [number];
  const ask = async (message: Message): Promise<Reply> => {
    stub.send(message);
    return ((await once(stub, 'message')) as [Reply])[0];
  };
  return { origin: `http://127.0.0.1:${port}`, ask };
}

/** Exports all reviews in a process of its own, see export-all.ts. */
export async function runExport(environment: NodeJS.ProcessEnv) {
  const args = [join(import.meta.dirname, 'export-all.ts')];
  const { stdout } = await promisify(execFile)(process.execPath, args, { env: { ...process.env, ...environment } });
  return JSON.parse(stdout) as { seconds: number; maxRssMb: number; cpuSeconds: number };
}

/** Fills a warehouse with reviews and orders: `bi.sql` with these numbers. */
export const fillingSql = async (reviews: number, products: number, first: string): Promise<string> =>
  (await readFile(join(import.meta.dirname, 'bi.sql'), 'utf8'))
    .replaceAll('@reviews', String(reviews))
    .replaceAll('@products', String(products))
    .replaceAll('@first', first);

/** The environment of a process that reads the stub into the warehouse. */
export const environmentOf = (warehouseUrl: string, origin: string) => ({
  SHOP_DATABASE_URL: warehouseUrl,
  WAREHOUSE_DATABASE_URL: warehouseUrl,
  REVIEW_API_BASE_URL: origin,
  REVIEW_API_CLIENT_ID: 'bench',
  REVIEW_API_CLIENT_SECRET: 'bench',
});

/** Runs a command line with plain Node. @returns what it wrote to standard output, and the peak of its memory. */
export async function runMeasured(args: readonly string[], environment: NodeJS.ProcessEnv) {
  const folder = await mkdtemp(join(tmpdir(), 'review-sync-bench-'));
  const env = { ...environment, PEAK_MEMORY_FILE: join(folder, 'peak-memory') };
  const command = ['--import', join(import.meta.dirname, 'report-memory.ts'), ...args];
  const { stdout } = await promisify(execFile)(process.execPath, command, { env });
  const maxRssMb = Number(await readFile(env.PEAK_MEMORY_FILE, 'utf8'));
  await rm(folder, { recursive: true });
  return { stdout, maxRssMb };
}

/** The command line. */
export const main = packagePath('src', 'cli', 'main.ts');

/** Makes the tables of a warehouse, and of the queue in it. */
export async function migrate(url: string): Promise<void> {
  await using warehouse = await openWarehouse({ url, connections: 1 });
  await migrateWarehouse(warehouse.db);
  await migrateQueue(url);
}

/** Seconds that the only run of a warehouse took; undefined: it has not ended. */
export async function secondsOfRun(warehouseUrl: string): Promise<number | undefined> {
  const [run] = await query<{ outcome: string; seconds: number }>(
    warehouseUrl,
    `select outcome, extract(epoch from finished_at - started_at)::float8 as seconds from sync.runs
     where finished_at is not null`,
  );
  if (run && run.outcome !== 'done') throw new Error(`the run ended ${run.outcome}`);
  return run?.seconds;
}

/** The sample shop, grown by SQL to so many orders. */
export async function growShop(opened: AsyncDisposableStack, url: string, orders: number) {
  const sample = generateSampleShop({ seed: 7, now: new Date(), orders: 60, reviews: 200 });
  await loadSampleShop(url, sample);
  const client = await connect(opened, url);
  await client.query(growSampleShop(orders));
  await client.query('vacuum analyze');
  return { client, reviews: sample.reviews };
}

/** What pushing orders needs, without a shop. */
export function openOrderDeps(
  opened: AsyncDisposableStack,
  warehouse: Warehouse,
  baseUrl: string,
): Omit<OrderDeps, 'shop'> {
  const { signal } = new AbortController();
  const api = openReviewApi({ baseUrl, clientId: 'bench', clientSecret: 'bench', signal });
  opened.defer(() => api.close());
  return {
    api,
    db: warehouse.db,
    store: openOrderStore(warehouse, { leaseMs: 60_000 }),
    slots: pLimit(96),
    log: openLog('silent'),
    now: () => new Date(),
    signal,
    limits: defaultLimits,
    requireSameShop: async () => {},
  };
}

/**
 * What the benches of reviews use: the stub, and a Postgres with a warehouse a measurement.
 *
 * @param keepIn folder of a Postgres that stays, with the safety of a real one; default: a temporary one without.
 */
export async function openReviewStage(opened: AsyncDisposableStack, keepIn?: string) {
  const database = await startEmbeddedDatabase(keepIn === undefined ? {} : { keepIn });
  opened.defer(() => database.close());
  const { origin, ask: hold } = await startStub<StubReviews, StubReport>(opened, 'review-stub.ts');
  return {
    origin,
    database,
    /** Sets what the stub holds; gives what came since the last time. */
    hold,
    async newWarehouse(): Promise<string> {
      const url = await database.createDatabase(`bench_${Math.random().toString(36).slice(2)}`);
      await migrate(url);
      return url;
    },
    environmentOf: (url: string) => ({ ...environmentOf(url, origin), REVIEW_API_TIME_ZONE: 'UTC' }),
  };
}
