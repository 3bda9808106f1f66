import { jobs } from '../../jobs/index.ts';
import { type App, openApp } from '../../src/app/app.ts';
import { readConfig } from '../../src/app/config.ts';
import { openLog } from '../../src/base/log.ts';
import type { RunReport } from '../../src/runs/job.ts';
import { type ReferenceService, startReferenceService } from '../../src/sandbox/reference-service/index.ts';
import type { ReferenceServiceOptions } from '../../src/sandbox/reference-service/service.ts';
import { type CliEnd, runCli } from './cli.ts';
import { cloneDatabase, createDatabase, forgetDatabase, queryAgain } from './database.ts';
import { runJob } from './run-job.ts';

export type World = AsyncDisposable & {
  shopUrl: string;
  warehouseUrl: string;
  serviceUrl: string;
  serviceDatabaseUrl: string;
  service: ReferenceService;
  /** What the command line needs to work in this world. */
  environment: Record<string, string>;
  warehouse<Row extends Record<string, unknown>>(text: string, values?: unknown[]): Promise<Row[]>;
  /** The service's own tables. */
  atService<Row extends Record<string, unknown>>(text: string, values?: unknown[]): Promise<Row[]>;
  shop<Row extends Record<string, unknown>>(text: string, values?: unknown[]): Promise<Row[]>;
  openApp(): Promise<App>;
  /** Runs a command to its end in this world, see `runCli`. */
  cli(...args: string[]): Promise<CliEnd>;
  /** From now on commands reach the service through this proxy, see proxy.ts, which closes with the world. */
  through<P extends { url: string; close(): Promise<void> }>(start: (target: string) => Promise<P>): Promise<P>;
  /**
   * A run in this process, without the queue and the command line, see `runJob`. All such runs of a world share an app.
   * @param job the name of the job: `sync-orders`.
   */
  run(job: string, asked?: Parameters<typeof runJob>[2], startedBy?: 'schedule' | 'command'): Promise<RunReport>;
};

export type WorldOptions = {
  /** `sample`: sixty orders of the sample shop, with the reviews of their products at the service. */
  shop?: 'sample' | 'empty';
  /** A world that is closed: this one begins with what its databases hold. */
  copyOf?: Pick<World, 'shopUrl' | 'warehouseUrl' | 'serviceDatabaseUrl'> | undefined;
  service?: Partial<ReferenceServiceOptions>;
  environment?: Record<string, string>;
};

/** For workers that begin no run by themselves. */
export const noSchedules = { SCHEDULE_ORDERS: '', SCHEDULE_CATALOG: '', SCHEDULE_REVIEWS: '', SCHEDULE_RECONCILE: '' };

/** A shop, a review service over real HTTP and a migrated warehouse, for one test; all gone afterwards. */
export async function openWorld(options: WorldOptions = {}): Promise<World> {
  await using opened = new AsyncDisposableStack();
  const { copyOf } = options;
  const isSample = options.shop !== 'empty';
  const [shopUrl, warehouseUrl, serviceDatabase] = await Promise.all([
    copyOf ? cloneDatabase(copyOf.shopUrl) : createDatabase(isSample ? 'shop' : 'empty'),
    copyOf ? cloneDatabase(copyOf.warehouseUrl) : createDatabase('migrated'),
    copyOf ? cloneDatabase(copyOf.serviceDatabaseUrl) : createDatabase(isSample ? 'reviews' : 'service'),
  ]);
  opened.defer(async () => void (await Promise.all([shopUrl, warehouseUrl, serviceDatabase].map(forgetDatabase))));
  const service = await startReferenceService({ databaseUrl: serviceDatabase, ...options.service });
  opened.defer(() => service.close());
  const environment = {
    SHOP_DATABASE_URL: shopUrl,
    WAREHOUSE_DATABASE_URL: warehouseUrl,
    REVIEW_API_BASE_URL: service.url,
    REVIEW_API_CLIENT_ID: 'demo',
    REVIEW_API_CLIENT_SECRET: 'demo',
    // Where the overview is not believed, a run reads two requests for each 44 days since then: from 2000 on 440.
    REVIEW_YEARS_FROM: '2022',
    LOG_LEVEL: 'warn',
    ...options.environment,
  };
  const all = opened.move();
  const open = async () => {
    const app = await openApp(readConfig(environment), { log: openLog('fatal') });
    all.defer(() => app.close());
    return app;
  };
  let shared: Promise<App> | undefined;
  return {
    shopUrl,
    warehouseUrl,
    serviceUrl: service.url,
    serviceDatabaseUrl: serviceDatabase,
    service,
    environment,
    warehouse: (text, values) => queryAgain(warehouseUrl, text, values),
    atService: (text, values) => queryAgain(serviceDatabase, text, values),
    shop: (text, values) => queryAgain(shopUrl, text, values),
    openApp: open,
    cli: (...args) => runCli(args, environment),
    async through(start) {
      const proxy = await start(service.url);
      all.defer(() => proxy.close());
      environment.REVIEW_API_BASE_URL = proxy.url;
      return proxy;
    },
    async run(name, asked, startedBy) {
      const job = jobs.find((one) => one.name === name);
      if (!job) throw new Error(`there is no job ${name}: ${jobs.map((one) => one.name).join(', ')}`);
      shared ??= open();
      return runJob(await shared, job, asked, startedBy);
    },
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  };
}

export { until } from './patience.ts';
