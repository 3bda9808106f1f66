import { randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { jobs } from '../../jobs/index.ts';
import { type App, openApp } from '../../src/app/app.ts';
import { readConfig } from '../../src/app/config.ts';
import { ownRights, systemsOf } from '../../src/app/run-rights.ts';
import type { Counts } from '../../src/base/counts.ts';
import { describeWithHint } from '../../src/base/errors.ts';
import { openLog } from '../../src/base/log.ts';
import type { AnyRunJob, RunReport } from '../../src/runs/define-run.ts';
import { startReferenceService } from '../../src/sandbox/reference-service/index.ts';
import { type SeedReview, seedReviews } from '../../src/sandbox/reference-service/seed.ts';
import type { ReferenceServiceOptions } from '../../src/sandbox/reference-service/service.ts';
import { beginRun, findRun, finishRun, type Run, type RunRights } from '../../src/warehouse/runs/runs.ts';
import { addressOf, type CliEnd, runCli, startHere } from './cli.ts';
import { createDatabase, forgetDatabase, queryAgain } from './database.ts';
import { type Change, startChangingProxy } from './proxy.ts';

export type World = Awaited<ReturnType<typeof openWorld>>;

// biome-ignore lint/suspicious/noExplicitAny: what a command says is judged by expectations, not by types
type Json = any;

export type WorldOptions = {
  /**
   * `sample`: thirty orders of the sample shop, with the reviews of their products at the service. Default: nothing.
   */
  shop?: 'sample';
  service?: Partial<ReferenceServiceOptions>;
  environment?: Record<string, string>;
};

/** Runs a command, which must end with this status and write these texts to standard output or error. */
export const endsOf =
  (cli: (command: string) => Promise<CliEnd>) =>
  async (status: number, command: string, ...texts: (string | RegExp)[]): Promise<CliEnd> => {
    const end = await cli(command);
    expect([command, end]).toMatchObject([command, { status }]);
    for (const text of texts) expect(end.stdout + end.stderr).toMatch(text);
    return end;
  };

/** For workers that begin no run by themselves. */
export const noSchedules = { SCHEDULE_ORDERS: '', SCHEDULE_CATALOG: '', SCHEDULE_REVIEWS: '', SCHEDULE_RECONCILE: '' };

/** A shop, a review service over real HTTP and a migrated warehouse, for one test. They are gone afterwards. */
export async function openWorld(options: WorldOptions = {}) {
  await using opened = new AsyncDisposableStack();
  // The shop and the service have schemas of their own in one database: a database costs 20 ms of processor time.
  const [shopUrl, warehouseUrl] = await Promise.all([
    createDatabase(options.shop === 'sample' ? 'shop' : 'service'),
    createDatabase('migrated'),
  ]);
  opened.defer(async () => void (await Promise.all([shopUrl, warehouseUrl].map(forgetDatabase))));
  const service = await startReferenceService({ databaseUrl: shopUrl, ...options.service });
  opened.defer(() => service.close());
  const environment: Record<string, string> = {
    SHOP_DATABASE_URL: shopUrl,
    WAREHOUSE_DATABASE_URL: warehouseUrl,
    REVIEW_API_BASE_URL: service.url,
    REVIEW_API_CLIENT_ID: 'demo',
    REVIEW_API_CLIENT_SECRET: 'demo',
    // If the overview is not believed, a run reads two requests for each 44 days since then: from 2000 on, 440.
    REVIEW_YEARS_FROM: '2022',
    LOG_LEVEL: 'warn',
    ...options.environment,
  };
  const all = opened.move();
  const open = async () => all.use(await openApp(readConfig(environment), { log: openLog('fatal') }));
  let shared: Promise<App> | undefined;
  const asks =
    (url: string) =>
    <Row extends Record<string, unknown>>(text: string, values?: unknown[]) =>
      queryAgain<Row>(url, text, values);
  /** Runs a command to its end in this world, see `runCli`. The first argument may be several words. */
  const cli = (...[words = '', ...more]: string[]) => runCli([...words.split(' '), ...more], environment);
  /**
   * A run in this process, without the queue and the command line, see `runJob`. All such runs of a world share an app.
   *
   * @param name of the job: `sync-orders`.
   */
  const run = async (name: string, asked?: Parameters<typeof runJob>[2], startedBy?: 'schedule' | 'command') => {
    const job = jobs.find((one) => one.name === name);
    if (!job) throw new Error(`there is no job ${name}: ${jobs.map((one) => one.name).join(', ')}`);
    shared ??= open();
    return runJob(await shared, job, asked, startedBy);
  };
  /** From now on commands reach the service through this proxy, see proxy.ts, which closes with the world. */
  const through = async <P extends { url: string; close(): Promise<void> }>(start: (target: string) => Promise<P>) => {
    const proxy = await start(service.url);
    all.defer(() => proxy.close());
    environment.REVIEW_API_BASE_URL = proxy.url;
    return proxy;
  };
  return {
    shopUrl,
    warehouseUrl,
    serviceUrl: service.url,
    service,
    seedReviews: (reviews: readonly SeedReview[]) => seedReviews(shopUrl, reviews),
    /** What the command line needs to work in this world. */
    environment,
    warehouse: asks(warehouseUrl),
    /** The service's own tables. */
    atService: asks(shopUrl),
    shop: asks(shopUrl),
    openApp: open,
    cli,
    /** What the command writes to standard output. */
    prints: async (...command: string[]) => (await cli(...command)).stdout,
    /** The same as `cli`. What the command writes to standard output must have these texts. */
    async says(command: string, ...texts: (string | RegExp)[]) {
      const end = await cli(command);
      for (const text of texts) expect(end.stdout).toMatch(text);
      return end;
    },
    ends: endsOf(cli),
    /** A run as in `run`, which must be done. @returns its counts. */
    done: async (...job: Parameters<typeof run>) => {
      const report = await run(...job);
      expect(report).toMatchObject({ outcome: 'done' });
      return report.counts;
    },
    /** What the command says with `--json`. */
    json: async (...command: string[]): Promise<Json> => JSON.parse((await cli(...command, '--json')).stdout),
    through,
    /** The same, through one that changes calls and answers. */
    changing: (change: Change) => through((target) => startChangingProxy(target, change)),
    run,
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  };
}

export type OpenWorld<W = World> = (options?: WorldOptions) => Promise<W>;

/**
 * Tests with worlds that close when the test has ended: `world`, and `openWorld(options)` for a test that needs a
 * special one. If the worlds of a file are alike, the file says so once:
 *
 *     const test = worldTest.extend('worldOptions', { shop: 'sample' });
 */
export const worldTest = testIn(openWorld);

/** The same with worlds that are opened with these options. */
export function testIn<W extends AsyncDisposable>(open: OpenWorld<W>) {
  return test
    .extend('worldOptions', {} as WorldOptions)
    .extend('openWorld', async ({ worldOptions }, { onCleanup }) => {
      const opened = new AsyncDisposableStack();
      onCleanup(() => opened.disposeAsync());
      const openOne: OpenWorld<W> = async (options = {}) => opened.use(await open(merged(worldOptions, options)));
      return openOne;
    })
    .extend('world', ({ openWorld: openOne }) => openOne());
}

/** The second options override the first, variable by variable of the environment. */
const merged = (usual: WorldOptions, special: WorldOptions): WorldOptions => ({
  ...usual,
  ...special,
  environment: { ...usual.environment, ...special.environment },
});

/** Sends a webhook to `serve`: a text as it is, anything else as JSON. */
export const postWebhook = (url: string, secret: string, body: unknown) =>
  fetch(`${url}/webhooks/${secret}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });

export type Serving = Awaited<ReturnType<typeof openServe>>;

/**
 * The command `serve` on a free port, in a world of its own. An empty LOG_LEVEL counts as none: it logs what is usual.
 */
export async function openServe(environment: Record<string, string> = {}, options: WorldOptions = {}) {
  const world = await openWorld(options);
  const all: Record<string, string> = { ...world.environment, LOG_LEVEL: '', PORT: '0', ...environment };
  const cli = startHere(['serve'], all);
  const url = await addressOf(cli);
  const stop = () => {
    cli.kill('SIGTERM');
    return cli.ended;
  };
  const close = async () => {
    await stop();
    await world[Symbol.asyncDispose]();
  };
  const post = (body: unknown) => postWebhook(url, all.WEBHOOK_SECRET ?? '', body);
  return { world, url, environment: all, stop, post, [Symbol.asyncDispose]: close };
}

/**
 * A run as the queue goes through it, without the queue and the command line, which cost 0.15 s of processor time.
 * Steps run side by side, and a failed step is not tried again. For what a test needs before it asserts, and for what
 * is the same however the run was started.
 */
export async function runJob(
  app: App,
  job: AnyRunJob,
  asked: Partial<RunRights> & { key?: string } = {},
  startedBy: 'schedule' | 'command' = 'command',
): Promise<RunReport> {
  const id = `${job.name}-${randomBytes(6).toString('hex')}`;
  const { db } = app.warehouse;
  const { key, ...rest } = asked;
  const rights = ownRights(app.config, rest.trigger ?? job.trigger, rest);
  const row = { id, job: job.name, key, startedBy, rights, systems: systemsOf(app.config) };
  if (!(await beginRun(db, row))) return { outcome: 'done', counts: { skipped: 1 } };
  const run = await findRun(db, id);
  if (!run) throw new Error('the run has no row');
  const { signal } = app.abort;
  try {
    let { state, steps } = throughQueue(await job.plan(app, run, signal));
    const results: Counts[] = [];
    const failures: string[] = [];
    for (;;) {
      const at = { run, signal };
      const ends = await Promise.allSettled(steps.map(async (step) => job.step.run(app, job.step.parse(step), at)));
      const done = ends.flatMap((end) => (end.status === 'fulfilled' ? [end.value] : []));
      results.push(...done);
      failures.push(...ends.flatMap((end) => (end.status === 'rejected' ? [describeWithHint(end.reason)] : [])));
      const isDown = ends.length > 0 && done.length === 0;
      const next = isDown ? undefined : await job.next?.(app, run, state);
      if (next === undefined) return await job.conclude(app, run, { state, results, failures }, signal);
      ({ state, steps } = throughQueue(next));
    }
  } catch (error) {
    await finishRun(app.warehouse.db, run.id, { outcome: 'failed', error: describeWithHint(error) });
    return { outcome: 'incomplete', counts: {}, reason: 'problem', error: describeWithHint(error) };
  }
}

/** The row of a run that a command has started and that has not ended, unless the test says otherwise. */
export const runOf = (job: string, given: Partial<Run> = {}): Run => ({
  id: job,
  job,
  key: null,
  startedBy: 'command',
  startedAt: new Date(),
  finishedAt: null,
  outcome: null,
  reason: null,
  counts: {},
  error: null,
  rights: {
    trigger: 'sync',
    allowRemovals: false,
    from: undefined,
    to: undefined,
    gaps: false,
    contactMaxAgeDays: 30,
    deletes: 'off',
  },
  systems: { timeZone: 'Asia/Seoul', shop: 'a shop', service: 'a service' },
  attendedAt: null,
  waitReason: null,
  waitUntil: null,
  ...given,
});

/** As it comes out of the queue, which keeps JSON. */
const throughQueue = <T>(plan: T): T => JSON.parse(JSON.stringify(plan)) as T;

export const hourMs = 3_600_000;
export const daysAgo = (days: number) => new Date(Date.now() - days * 24 * hourMs);

/** A review of that moment, for `seedReviews`. */
export function reviewAt(moment: Date | number, more: Partial<SeedReview> = {}): SeedReview {
  const at = new Date(moment);
  return { product_code: 'P1', message: 'a review', score: 5, created_at: at, updated_at: at, ...more };
}

/**
 * One review an hour, or one in so many hours, at whole seconds. `review 1` is the oldest. The last review is the
 * newest, and three hours old.
 */
export function hourlyReviews(count: number, hours = 1): SeedReview[] {
  const newest = Math.floor(Date.now() / 1000) * 1000 - 3 * hourMs;
  return Array.from({ length: count }, (_, index) => {
    return reviewAt(newest - (count - 1 - index) * hours * hourMs, { message: `review ${index + 1}` });
  });
}

/** The same at the service and, synced, in the warehouse. */
export async function syncHourly(world: World, count: number): Promise<void> {
  await world.seedReviews(hourlyReviews(count));
  expect(await world.run('sync-reviews')).toMatchObject({ outcome: 'done' });
}
