/**
 * `npm run test:image`: builds the Dockerfile with Buildah and runs the image against real databases on this machine.
 *
 *     npm run test:image
 *     npm run test:image -- --base <image>    in place of the Dockerfile's Node, such as one of `buildah images`
 *
 * The isolation `chroot` needs no service and no container runtime, and shares the network and the process ids of the
 * host. Prints one line a claim. Exit status 1 where a claim does not hold; 0 where Buildah is not installed.
 */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import pg from 'pg';
import { packagePath } from '../../src/base/package-path.ts';
import { startEmbeddedDatabase } from '../../src/sandbox/embedded-postgres/index.ts';
import { startReferenceService } from '../../src/sandbox/reference-service/index.ts';
import { seedReviews } from '../../src/sandbox/reference-service/seed.ts';
import { generateSampleShop } from '../../src/sandbox/sample-shop/generate.ts';
import { loadSampleShop } from '../../src/sandbox/sample-shop/load.ts';

type ImageConfig = { Entrypoint: string[]; Cmd: string[] };
type Ended = { status: number | null; stdout: string; stderr: string };

const { values } = parseArgs({ options: { base: { type: 'string' } } });
const sizes = { orders: 60, reviews: 200 };
const container = `review-sync-test-${process.pid}`;
const image = `localhost/${container}`;

if (spawnSync('buildah', ['--version']).error) {
  console.log('SKIPPED: Buildah is not installed (on Debian: apt-get install buildah), so the image was not built.');
} else {
  await using opened = new AsyncDisposableStack();
  await checkImage(opened);
}

async function checkImage(opened: AsyncDisposableStack): Promise<void> {
  const base = values.base === undefined ? [] : ['--from', values.base];
  const build = ['bud', '--isolation', 'chroot', '--format', 'docker', '--tag', image, ...base, packagePath()];
  const built = await buildah(build).ended;
  claim('the Dockerfile builds', built.status === 0, built);
  if (built.status !== 0) {
    console.log('Where no registry of images can be reached, name an image with Node and npm by --base.');
    return;
  }
  opened.defer(async () => void (await buildah(['rmi', image]).ended));
  const { stdout } = await buildah(['inspect', '--type', 'image', image]).ended;
  const { Entrypoint, Cmd }: ImageConfig = JSON.parse(stdout).Docker.config;
  const { environment, count } = await openSurroundings(opened);
  await buildah(['from', '--name', container, image]).ended;
  opened.defer(async () => void (await buildah(['rm', container]).ended));

  const flags = Object.entries(environment).map(([name, value]) => `--env=${name}=${value}`);
  const start = (...command: string[]) =>
    buildah(['run', '--isolation', 'chroot', ...flags, container, '--', ...command]);
  const run = (...command: string[]) => start(...command).ended;
  const reviewSync = (...args: string[]) => run(...Entrypoint, ...args);
  const user = await run('id', '-u');
  claim('it runs as uid 1000', user.stdout === '1000\n', user);
  const writable = await run('find', '/app', '-writable', '-not', '-type', 'l', '-print', '-quit');
  claim('its user can change nothing in /app', writable.status === 0 && writable.stdout === '', writable);
  const files = await run('ls', '-A', '/app');
  const expected = 'LICENSE examples jobs node_modules package.json sql src ';
  claim('/app holds what the program needs, and no .env', files.stdout.split('\n').join(' ') === expected, files);

  for (const command of ['migrate', 'sync catalog', 'sync reviews', 'sync orders']) {
    const ended = await reviewSync(...command.split(' '));
    claim(`${command} ends with status 0`, ended.status === 0, ended);
  }
  const counts = {
    orders: await count('service', 'reference_service.orders'),
    reviews: await count('warehouse', 'warehouse.reviews'),
  };
  const isComplete = counts.orders === sizes.orders && counts.reviews === sizes.reviews;
  claim(`the service has ${sizes.orders} orders, the warehouse ${sizes.reviews} reviews`, isComplete, counts);

  const detached = await reviewSync('backfill', 'reviews', '--from', '2024-01-01', '--detach');
  // The shell becomes the worker and keeps its process id: a signal to Buildah would kill the worker at once.
  const worker = start('sh', '-c', 'echo "pid $$" && exec "$@"', 'sh', ...Entrypoint, ...Cmd);
  const isDone = await worker.says('backfill-reviews: done');
  claim('the default command is a worker; it runs a backfill that another container enqueued', isDone, detached);
  await run('sh', '-c', `kill -TERM ${/^pid (\d+)$/m.exec(worker.output())?.[1]}`);
  const stopped = await worker.ended;
  claim('SIGTERM ends the worker with status 0', stopped.status === 0, stopped);
}

/** One line; what was found instead where it does not hold. */
function claim(text: string, holds: boolean, found: unknown): void {
  console.log(`${holds ? 'ok ' : 'NOT'}  ${text}`);
  if (holds) return;
  process.exitCode = 1;
  console.log(found);
}

/** Starts Buildah, which is ended after ten minutes. */
function buildah(args: readonly string[]) {
  const child = spawn('buildah', args, { stdio: ['ignore', 'pipe', 'pipe'], timeout: 600_000 });
  let [stdout, stderr] = ['', ''];
  child.stdout.on('data', (chunk) => {
    stdout += chunk;
  });
  child.stderr.on('data', (chunk) => {
    stderr += chunk;
  });
  const ended = once(child, 'close').then(([status]): Ended => ({ status, stdout, stderr }));
  /** Whether it has written the text before it ended. */
  const says = async (text: string): Promise<boolean> => {
    while (!(stdout + stderr).includes(text) && child.exitCode === null) await setTimeout(200);
    return (stdout + stderr).includes(text);
  };
  return { ended, says, output: () => stdout + stderr };
}

/** A shop, an empty warehouse and a service with reviews, on 127.0.0.1. */
async function openSurroundings(opened: AsyncDisposableStack) {
  const database = await startEmbeddedDatabase();
  opened.defer(() => database.close());
  const shop = generateSampleShop({ seed: 7, ...sizes, now: new Date() });
  await loadSampleShop(await database.createDatabase('shop'), shop);
  await seedReviews(await database.createDatabase('service'), shop.reviews);
  const service = await startReferenceService({ databaseUrl: database.url('service') });
  opened.defer(() => service.close());
  return {
    environment: {
      SHOP_DATABASE_URL: database.url('shop'),
      SHOP_TIME_ZONE: 'Asia/Seoul',
      WAREHOUSE_DATABASE_URL: await database.createDatabase('warehouse'),
      REVIEW_API_BASE_URL: service.url,
      REVIEW_API_CLIENT_ID: 'demo',
      REVIEW_API_CLIENT_SECRET: 'demo',
    },
    async count(name: 'service' | 'warehouse', table: string): Promise<number> {
      const pool = new pg.Pool({ connectionString: database.url(name), max: 1 });
      const { rows } = await pool.query(`select count(*)::int as n from ${table}`);
      await pool.end();
      return rows[0].n;
    },
  };
}
