/**
 * How fast `sync orders` pushes, compared with a bare undici loop that sends the same requests to the same stub in the
 * same run, and whether its memory stays flat. The command is run as a user runs it; its seconds are those of the run
 * in sync.runs. Prints its table and puts it into docs/benchmark-tables.md.
 *
 *   npm run bench:orders                    50,000 orders, three times; 5,000 and 20,000 with 5 ms a request, 2,000 with 50
 *   npm run bench:orders -- --memory [N …]  only memory, with N orders: a table of its own
 */
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { startEmbeddedDatabase } from '../src/sandbox/embedded-postgres/index.ts';
import { query } from '../test/harness/database.ts';
import type { SlotTimes } from './slot-times.ts';
import { environmentOf, main, migrate, runMeasured, secondsOfRun, startStub } from './stage.ts';
import type { Recorded, StubMessage, StubReply } from './stub-service.ts';
import { writeTable } from './table.ts';

type Run = { requests: number; seconds: number; maxRssMb: number; slots: SlotTimes };

const run = promisify(execFile);
const here = (file: string) => join(import.meta.dirname, file);
await using opened = new AsyncDisposableStack();
const folder = await mkdtemp(join(tmpdir(), 'review-sync-bench-'));
opened.defer(() => rm(folder, { recursive: true }));
const database = await startEmbeddedDatabase();
opened.defer(() => database.close());
const { origin, ask: askStub } = await startStub<StubMessage, StubReply>(opened, 'stub-service.ts');

await writeFile(
  join(folder, 'orders.sql'),
  `select code, at as created_at, at as updated_at, 10000 + n::numeric / 100 as total_price,
     'member' || n % 999 as user_code, 'Kim' as user_name, 'pc' as order_device, 0 as mileage
   from orders`,
);
await writeFile(
  join(folder, 'order_lines.sql'),
  `select code as order_code, line::text as line_code, (n % 500 + 1)::bigint as product_id, 5000.50 as price,
     'paid' as status, jsonb_build_object('size', 'L', 'colour', 'blue') as product_options
   from orders cross join lateral generate_series(1, 1 + n % 2) as line`,
);

async function pushAll(
  orders: number,
  stubOptions: { latencyMs: number; isRecording: boolean },
): Promise<Run & { recorded: Recorded[] }> {
  const name = `bench_${Math.random().toString(36).slice(2)}`;
  const [shop, warehouseUrl] = [await database.createDatabase(`${name}_shop`), await database.createDatabase(name)];
  await query(
    shop,
    `create table orders as
     select n, 'O' || n as code, timestamptz '2024-01-01' + n * interval '1 minute' as at
     from generate_series(1, ${orders}) n;
     create index on orders (at, code);
     create index on orders (code);
     analyze orders`,
  );
  await migrate(warehouseUrl);
  await askStub({ kind: 'settings', ...stubOptions });
  const environment = {
    ...process.env,
    ...environmentOf(warehouseUrl, origin),
    LOG_LEVEL: 'error',
    SLOT_TIMES_FILE: join(folder, 'slot-times'),
    SHOP_DATABASE_URL: shop,
    SHOP_SQL_DIR: folder,
  };
  const { maxRssMb } = await runMeasured(['--import', here('slot-times.ts'), main, 'sync', 'orders'], environment);
  const slots = JSON.parse(await readFile(environment.SLOT_TIMES_FILE, 'utf8')) as SlotTimes;
  const reply = await askStub({ kind: 'take' });
  return { seconds: (await secondsOfRun(warehouseUrl)) ?? Number.NaN, maxRssMb, slots, ...reply };
}

async function bareLoop(requests: readonly Recorded[]): Promise<number> {
  const file = join(folder, 'requests.json');
  await writeFile(file, JSON.stringify(requests));
  const { stdout } = await run(process.execPath, [here('bare-loop.ts'), origin, file]);
  return (JSON.parse(stdout) as { seconds: number }).seconds;
}

const perSecond = (requests: number, seconds: number) => Math.round(requests / seconds).toLocaleString('en');
const megabytes = (run: Run) => Math.round(run.maxRssMb).toString();

async function measureRate(): Promise<void> {
  const rows: string[][] = [];
  const waits: { label: string; slots: SlotTimes }[] = [];
  const turns = [
    ['50,000 orders, turn 1', 50_000, 0],
    ['50,000 orders, turn 2', 50_000, 0],
    ['50,000 orders, turn 3', 50_000, 0],
    ['5,000 orders, 5 ms a request', 5000, 5],
    ['20,000 orders, 5 ms a request', 20_000, 5],
    ['2,000 orders, 50 ms a request', 2000, 50],
  ] as const;
  for (const [label, orders, latencyMs] of turns) {
    const ours = await pushAll(orders, { latencyMs, isRecording: true });
    const bare = await bareLoop(ours.recorded);
    const rates = [perSecond(ours.requests, ours.seconds), perSecond(ours.requests, bare)];
    rows.push([label, ...rates, (bare / ours.seconds).toFixed(2), megabytes(ours)]);
    waits.push({ label, slots: ours.slots });
  }
  const head = ['push of', 'requests/s', 'bare loop, requests/s', 'ratio', 'peak memory, MB'];
  await writeTable('orders', 'npm run bench:orders', head, rows);
  const shares = waits.map(({ label, slots }) => [
    label,
    ...Object.values(slots).map((one) => `${Math.round(one * 100)} %`),
  ]);
  await writeTable('orders-slots', 'npm run bench:orders', ['push of', ...Object.keys(waits[0]?.slots ?? {})], shares);
}

async function measureMemory(): Promise<void> {
  const rows: string[][] = [];
  const sizes = process.argv.map(Number).filter((size) => size > 0);
  for (const orders of sizes.length > 0 ? sizes : [5000, 20_000, 50_000, 200_000]) {
    const ours = await pushAll(orders, { latencyMs: 0, isRecording: false });
    rows.push([`${orders.toLocaleString('en')} orders`, perSecond(ours.requests, ours.seconds), megabytes(ours)]);
  }
  await writeTable(
    'orders-memory',
    'npm run bench:orders -- --memory',
    ['push of', 'requests/s', 'peak memory, MB'],
    rows,
  );
}

await (process.argv.includes('--memory') ? measureMemory() : measureRate());
