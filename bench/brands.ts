/**
 * What idle brands cost. One worker with so many brands, whose flows are up to date, runs sync orders and sync reviews
 * of each once a minute. Prints statements a brand and run, connections, memory and processor time.
 *
 *   npm run bench:brands
 *   npm run bench:brands -- --brands 10 --minutes 1
 */
import { cp, mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { packagePath } from '../src/base/package-path.ts';
import { startEmbeddedDatabase } from '../src/sandbox/embedded-postgres/index.ts';
import { startReferenceService } from '../src/sandbox/reference-service/index.ts';
import { generateSampleShop } from '../src/sandbox/sample-shop/generate.ts';
import { loadSampleShop } from '../src/sandbox/sample-shop/load.ts';
import { runProcess, startCli } from '../test/harness/cli.ts';
import { cpuOf } from './processor-time.ts';
import { connect } from './stage.ts';

const { values: given } = parseArgs({
  options: { brands: { type: 'string', default: '50' }, minutes: { type: 'string', default: '3' } },
});
const names = Array.from({ length: Number(given.brands) }, (_, n) => `b${n + 1}`);
const minutes = Number(given.minutes);

await using opened = new AsyncDisposableStack();
const settings = ['shared_preload_libraries=pg_stat_statements', 'max_connections=600', 'pg_stat_statements.max=10000'];
const server = await startEmbeddedDatabase({ temporaryIn: tmpdir(), settings });
opened.defer(() => server.close());
const warehouse = await server.createDatabase('warehouse');
const shop = await server.createDatabase('shop');
await loadSampleShop(shop, generateSampleShop({ seed: 7, orders: 30, reviews: 50, now: new Date() }));
const folder = await mkdtemp(join(tmpdir(), 'bench-brands-'));
const client = await connect(opened, warehouse);
await client.query('create schema stats; create extension pg_stat_statements schema stats');
const rows = async <Row>(text: string) => (await client.query(text)).rows as Row[];

for (const name of names) {
  const service = await startReferenceService({
    databaseUrl: await server.createDatabase(`service_${name}`),
    clientId: name,
    clientSecret: name,
  });
  opened.defer(() => service.close());
  await cp(packagePath('sql', 'shop'), join(folder, name), { recursive: true });
  const lines = {
    // Two brands with one address and one orders.sql are refused.
    SHOP_DATABASE_URL: `${shop}?application_name=${name}`,
    REVIEW_API_BASE_URL: service.url,
    REVIEW_API_CLIENT_ID: name,
    REVIEW_API_CLIENT_SECRET: name,
  };
  const text = Object.entries(lines)
    .map(([variable, value]) => `${variable}=${value}\n`)
    .join('');
  await writeFile(join(folder, `${name}.env`), text, { mode: 0o600 });
}
const environment = {
  BRANDS_DIR: folder,
  WAREHOUSE_DATABASE_URL: warehouse,
  REVIEW_YEARS_FROM: '2026',
  LOG_LEVEL: 'info',
  SCHEDULE_CATALOG: '',
  SCHEDULE_RECONCILE: '',
  SCHEDULE_ORDERS: '* * * * *',
  SCHEDULE_REVIEWS: '* * * * *',
};
let startedMs = performance.now();
const took = () => `${((performance.now() - startedMs) / 1000).toFixed(1)} s`;
const migrated = await runProcess(['migrate'], environment);
if (migrated.status !== 0) throw new Error(migrated.stderr);
console.log(`migrate of ${names.length} brands: ${took()}`);

startedMs = performance.now();
const worker = startCli(['worker'], environment);
opened.defer(async () => {
  worker.kill('SIGTERM');
  await worker.ended;
});
await worker.says('worker ready');
console.log(`worker ready after ${took()}`);
const ended = (since: string) =>
  rows<{ job: string; n: number }>(
    names
      .map(
        (name) =>
          `select job, count(*)::integer as n from sync_${name}.runs where outcome is not null and finished_at > '${since}' group by 1`,
      )
      .join(' union all '),
  );
const now = async () => (await rows<{ at: string }>('select now()::text as at'))[0]?.at ?? '';
// The first runs push and read everything.
const begun = await now();
while ((await ended(begun)).length < 2 * names.length) {
  await delay(2000);
}
console.log(`first runs ended after ${took()}`);
const loud = worker
  .saidSoFar()
  .split('\n')
  .filter((line) => /"level":[456]0/.test(line));
console.log(`${loud.length} warnings, such as ${loud.slice(0, 3).join('\n')}`);
await delay(60_000);

await client.query('select stats.pg_stat_statements_reset()');
const since = await now();
const cpu = await cpuOf([worker.pid ?? 0]);
await delay(minutes * 60_000);
const used = (await cpuOf([worker.pid ?? 0])) - cpu;
const runs = (await ended(since)).reduce((sum, { n }) => sum + n, 0);
const statements = await rows<{ ofwarehouse: string; ofqueue: string; looks: string }>(`
  select sum(calls) filter (where query !~ 'bullmq' and query ~ '_b\\d+"?\\.') as ofwarehouse,
    sum(calls) filter (where query ~ 'bullmq') as ofqueue,
    sum(calls) filter (where query ~ 'sync.* set attempts = attempts|"finishedAt" is null\\s+order by|set attended_at|field_shapes') as looks
  from stats.pg_stat_statements s join pg_database d on d.oid = s.dbid where datname = 'warehouse'`);
const [found] = statements;
const connections = await rows<{ name: string; n: number }>(
  `select application_name as name, count(*)::integer as n from pg_stat_activity where datname = 'warehouse' and pid <> pg_backend_pid() group by 1 order by 1`,
);
const status = await readFile(`/proc/${worker.pid}/status`, 'utf8');
const mb = (field: string) => Math.round(Number(new RegExp(`${field}:\\s+(\\d+)`).exec(status)?.[1] ?? 0) / 1024);
const [own, queue, looks] = [found?.ofwarehouse, found?.ofqueue, found?.looks].map(Number) as [number, number, number];
console.log(`${runs} runs of ${names.length} brands in ${minutes} minutes`);
console.log(
  `statements a run in the warehouse: ${((own - looks) / runs).toFixed(1)} without looking for work; queue ${(queue / runs).toFixed(1)}`,
);
console.log(`looking for work: ${(looks / minutes / 60).toFixed(1)} statements a second`);
console.log(`connections: ${connections.map(({ name, n }) => `${name} ${n}`).join(', ')}`);
console.log(
  `memory of the worker: ${mb('VmRSS')} MB now, ${mb('VmHWM')} MB at most; processor ${((used / minutes / 60) * 100).toFixed(0)} %`,
);
for (const one of await rows<{ calls: number; query: string }>(`
  select calls::integer, left(regexp_replace(regexp_replace(query, '_b\\d+', '', 'g'), '\\s+', ' ', 'g'), 120) as query from (
    select sum(calls) as calls, min(query) as query from stats.pg_stat_statements s join pg_database d on d.oid = s.dbid
    where datname = 'warehouse' and query ~ '_b\\d+"?\\.' group by regexp_replace(query, '_b\\d+', '', 'g')) as q
  order by calls desc`)) {
  console.log(`${(one.calls / runs).toFixed(2).padStart(8)}  ${one.query}`);
}
