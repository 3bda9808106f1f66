import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import pLimit from 'p-limit';
import pg from 'pg';
import { runProgram } from '../../src/cli/program.ts';
import type { EmbeddedDatabase } from '../../src/sandbox/embedded-postgres/index.ts';
import { startReferenceService } from '../../src/sandbox/reference-service/index.ts';
import { startRuleProxy } from '../harness/proxy.ts';
import { differencesByRow } from '../harness/views-by-row.ts';
import { type ShopDates, type ShopFeed, shopSchema, writeShopQueries } from './shop.ts';

/** What differs between two simulations from the beginning. */
export type Setting = {
  zone: string;
  dates: ShopDates;
  feed: ShopFeed;
  deletes: 'off' | 'send';
  lastPageLink: 'real' | 'capped' | 'absent';
};

export type Rows = Record<string, unknown>[];
export type Database = (sql: string, values?: unknown[]) => Promise<Rows>;

/** The databases of the shop, the service and review-sync. */
export type Sides = { setting: Setting; shop: Database; atService: Database; warehouse: Database };

/** Where a run takes place: the three databases, the service and what stands before it. */
export type Stage = Sides & {
  /**
   * The three databases as they are at this moment: later changes are not seen, and `now()` stays the same. Only DDL
   * and TRUNCATE must wait until it is released.
   */
  freeze(): Promise<{ sides: Sides; release(): Promise<void> }>;
  proxy: Awaited<ReturnType<typeof startRuleProxy>>;
  environment: Record<string, string>;
  /** Seconds by which the service's clock is wrong. */
  setServiceClock(skewSeconds: number): void;
  expireTokens(): Promise<void>;
  close(): Promise<void>;
};

/** The snapshot is that of the first statement. */
const snapshotSql = 'begin isolation level repeatable read, read only';

let stages = 0;

/** Makes three empty databases, the schema of the shop and the warehouse, and starts the service. */
export async function openStage(server: Pick<EmbeddedDatabase, 'createDatabase'>, setting: Setting): Promise<Stage> {
  stages += 1;
  const [shop, service, warehouse] = await Promise.all(
    ['shop', 'service', 'warehouse'].map((name) => server.createDatabase(`${name}_${process.pid}_${stages}`)),
  );
  if (!shop || !service || !warehouse) throw new Error('no database was created');
  const urls = { shop, service, warehouse };
  const pools = Object.fromEntries(Object.entries(urls).map(([name, url]) => [name, openPool(url)]));
  let skewSeconds = 0;
  const reference = await startReferenceService({
    databaseUrl: service,
    timeZone: setting.zone,
    lastPageLink: setting.lastPageLink,
    now: () => new Date(Date.now() + skewSeconds * 1000),
  });
  const proxy = await startRuleProxy(reference.url);
  const environment = {
    SHOP_DATABASE_URL: shop,
    WAREHOUSE_DATABASE_URL: warehouse,
    SHOP_SQL_DIR: await writeShopQueries(setting.feed),
    SHOP_TIME_ZONE: setting.zone,
    REVIEW_API_BASE_URL: proxy.url,
    REVIEW_API_CLIENT_ID: 'demo',
    REVIEW_API_CLIENT_SECRET: 'demo',
    REVIEW_API_TIME_ZONE: setting.zone,
    ORDER_DELETES: setting.deletes,
    // A job of a process that was killed is taken over within a second of real time.
    TAKE_OVER_SECONDS: '1',
    // A run waits this long, in real time, for the orders of a process that died. The service carries out no write so
    // late.
    ORDER_LEASE_SECONDS: '20',
    LOG_LEVEL: 'warn',
  };
  const database = (name: string): Database => {
    return async (sql, values) => {
      const pool = pools[name];
      if (!pool) throw new Error(`no database ${name}`);
      const result: pg.QueryResult | pg.QueryResult[] = await pool.query(sql, values);
      return [result].flat().at(-1)?.rows ?? [];
    };
  };
  const freeze: Stage['freeze'] = async () => {
    const opened = await Promise.all(
      Object.entries(pools).map(async ([name, pool]) => ({ name, client: await pool.connect() })),
    );
    await Promise.all(opened.map(({ client }) => client.query(`${snapshotSql}; select now()`)));
    const frozen = (name: keyof typeof urls): Database => {
      const client = opened.find((one) => one.name === name)?.client;
      const oneAtATime = pLimit(1);
      return (sql, values) => oneAtATime(async () => (await client?.query(sql, values))?.rows ?? []);
    };
    return {
      sides: { setting, shop: frozen('shop'), atService: frozen('service'), warehouse: frozen('warehouse') },
      async release() {
        await Promise.all(opened.map(({ client }) => client.query('commit')));
        for (const { client } of opened) client.release();
      },
    };
  };
  const stage: Stage = {
    freeze,
    setting,
    shop: database('shop'),
    atService: database('service'),
    warehouse: database('warehouse'),
    proxy,
    environment,
    setServiceClock: (seconds) => {
      skewSeconds = seconds;
    },
    expireTokens: () => reference.expireTokens(),
    async close() {
      await proxy.close();
      await reference.close();
      await Promise.all(Object.values(pools).map((pool) => pool.end()));
    },
  };
  await stage.shop(shopSchema(setting.dates, setting.zone));
  const migrated = await command(stage, ['migrate']);
  if (migrated.status !== 0) throw new Error(`migrate failed: ${migrated.stderr}`);
  // Creates the views that the judge compares with; it reads only.
  await differencesByRow(stage.warehouse);
  return stage;
}

function openPool(url: string): pg.Pool {
  const pool = new pg.Pool({ connectionString: url, max: 3, application_name: 'simulation' });
  pool.on('error', () => {});
  return pool;
}

export type End = { args: readonly string[]; status: number; stdout: string; stderr: string };

/** Runs the command line in this process: same arguments, environment, output and exit status. */
export async function command(
  { environment }: Stage,
  args: readonly string[],
  signal: AbortSignal = new AbortController().signal,
): Promise<End> {
  let [stdout, stderr] = ['', ''];
  const writeError = (text: string) => {
    stderr += text;
  };
  const status = await runProgram({
    args,
    environment,
    signal,
    writeOut: (text) => {
      stdout += text;
    },
    writeError,
    isTerminal: false,
    writeLog: writeError,
  });
  return { args, status, stdout, stderr };
}

const main = join(import.meta.dirname, '..', '..', 'src', 'cli', 'main.ts');

/**
 * Runs the command line in a process of its own, which is killed when the signal comes. Status 1 then.
 *
 * @param inTime the variables of `Clock`.
 */
export async function killableCommand(
  { environment }: Stage,
  args: readonly string[],
  signal: AbortSignal,
  inTime: Record<string, string>,
): Promise<End> {
  const env = { ...process.env, ...environment, ...inTime };
  const child = spawn(process.execPath, [main, ...args], { env, stdio: ['ignore', 'pipe', 'pipe'] });
  const kill = () => void child.kill('SIGKILL');
  signal.addEventListener('abort', kill);
  const ended = once(child, 'close');
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)]);
  const [status] = await ended;
  signal.removeEventListener('abort', kill);
  return { args, status: status ?? 1, stdout, stderr };
}
