import { createPostgresBackend, createRedisBackend, runMigrations, withBackend } from 'bullmq';
import type { BullMQOtel } from 'bullmq-otel';
import type { Redis } from 'ioredis';
import pg from 'pg';
import { ReviewSyncError } from '../base/errors.ts';
import { surviveLostConnections } from '../base/lost-connections.ts';
import { withSearchPath } from '../base/search-path.ts';
import { withTimeout } from '../base/timeout.ts';

/**
 * BullMQ's classes, bound to the server of QUEUE_URL. The rest of src/queue does not know which kind of server it is.
 */
export type QueueClasses = {
  Queue: ReturnType<typeof redisClasses>['Queue'];
  Worker: ReturnType<typeof redisClasses>['Worker'];
  connection: object;
  /** How BullMQ reports spans; absent without an OpenTelemetry SDK. */
  telemetry: { telemetry?: BullMQOtel };
  /** Closes the shared connections. Close queues and workers first. */
  close(): Promise<void>;
};

/** Postgres schema of the queue's tables. */
const schema = 'bullmq';
const connectTimeoutMs = 10_000;

/**
 * The number of queues that a process takes jobs from: the queue of due runs, and the queues of eight runs. On Postgres
 * each queue listens on a connection of the pool.
 */
export const takersAtATime = 9;

/** `takersAtATime` for a process that serves several brands, however many. */
export const takersOfBrands = 25;

/**
 * Connections for the statements of all queues, in addition to one for each queue that jobs are taken from. The
 * statements take milliseconds. Without these connections, every statement would wait forever; with two, the opening of
 * 50 brands waits for seconds. The first claim of a job costs the server 11 ms of processor time on a new connection,
 * because it reads the catalog and compiles BullMQ's function, and 0.6 ms on a used one.
 */
const moreConnections = (takers: number) => (takers > takersAtATime ? 10 : 2);

/**
 * @param silenceMs how long the server may send nothing while a call is in flight. BullMQ's calls end within five seconds.
 * @param takers queues that jobs are taken from at a time.
 * @throws ReviewSyncError that names QUEUE_URL, with the driver's error. BullMQ itself would wait endlessly without a
 *   message.
 */
export async function queueClasses(url: string, silenceMs = 60_000, takers = takersAtATime): Promise<QueueClasses> {
  const telemetry = await openTelemetry();
  if (isRedis(url)) {
    // If the server lacks the address's database, the driver itself goes on with database 0.
    await requireResponse(withRedis(url, (redis) => redis.select(redis.options.db ?? 0)));
    // After a failover, the old primary refuses writes and keeps its connections, while the name already points to
    // another server.
    const reconnectOnError = (error: Error) => error.message.startsWith('READONLY');
    const connection = { url, maxRetriesPerRequest: null, reconnectOnError, socketTimeout: silenceMs };
    return { ...redisClasses(), connection, telemetry, close: async () => {} };
  }
  const connection = new pg.Pool({
    connectionString: withSearchPath(url, schema),
    max: takers + moreConnections(takers),
    application_name: 'review-sync queue',
    keepAlive: true,
    keepAliveInitialDelayMillis: 30_000,
    Client: SurvivingClient,
  });
  // Each queue and worker listens for errors of the pool.
  connection.setMaxListeners(0);
  surviveLostConnections(connection, silenceMs);
  try {
    // The queues use this connection first.
    await requireResponse(connection.connect().then((client) => client.release()));
  } catch (error) {
    connection.end().catch(() => {});
    throw error;
  }
  const classes = withBackend(createPostgresBackend) as unknown as ReturnType<typeof redisClasses>;
  return { ...classes, connection, telemetry, close: () => connection.end() };
}

/** @throws ReviewSyncError that names QUEUE_URL, with the driver's error, if the server does not respond in time. */
const requireResponse = (call: Promise<unknown>) => respondsInTime(call, connectTimeoutMs, 'cannot be reached');

/**
 * A connection. Its loss never ends the process: the next statement reports the error. BullMQ listens for the `error`
 * event of its LISTEN connections neither before they are open nor while it closes them.
 */
class SurvivingClient extends pg.Client {
  override emit(event: string | symbol, ...args: unknown[]): boolean {
    if (event === 'error' && this.listenerCount('error') === 0) return false;
    return super.emit(event, ...args);
  }
}

const redisClasses = () => withBackend(createRedisBackend);

/**
 * Opens spans of jobs, which link a run with its steps across machines. An OpenTelemetry SDK is loaded before the
 * command line and leaves this symbol. Without an SDK, the sixty modules of OpenTelemetry are not loaded.
 */
async function openTelemetry(): Promise<QueueClasses['telemetry']> {
  if (!(Symbol.for('opentelemetry.js.api.1') in globalThis)) return {};
  const { BullMQOtel } = await import('bullmq-otel');
  return { telemetry: new BullMQOtel({ tracerName: 'review-sync' }) };
}

export const isRedis = (url: string) => /^rediss?:/.test(url);

/** Brings the queue's tables up to date. Redis needs none. */
export async function migrateQueue(url: string): Promise<void> {
  if (isRedis(url)) return;
  const client = new SurvivingClient({
    connectionString: withSearchPath(url, 'pg_catalog'),
    connectionTimeoutMillis: connectTimeoutMs,
  });
  try {
    await client.connect();
    await runMigrations(client, schema);
  } finally {
    await client.end();
  }
}

/** Opens a Redis connection for `ask` and closes it. */
export async function withRedis<T>(url: string, ask: (redis: Redis) => Promise<T>): Promise<T> {
  const { Redis } = await import('ioredis');
  const redis = new Redis(url, { lazyConnect: true, retryStrategy: () => null, connectTimeout: connectTimeoutMs });
  // The call itself fails only with "connection is closed".
  let reason: Error | undefined;
  redis.on('error', (error) => {
    reason ??= error;
  });
  try {
    await redis.connect();
    return await ask(redis);
  } catch (error) {
    throw reason ?? error;
  } finally {
    redis.disconnect();
  }
}

/**
 * The policy of a Redis with full memory: all except `noeviction` lose jobs. Undefined on Postgres. Writes a key that
 * expires at once, by a script, as BullMQ does.
 *
 * @throws the error of a Redis that takes no writes: it is full, a replica, cannot save, or refuses this user scripts.
 */
export async function evictionPolicy(url: string): Promise<string | undefined> {
  if (!isRedis(url)) return undefined;
  const info = await withRedis(url, async (redis) => {
    await redis.eval("return redis.call('set', KEYS[1], '', 'PX', 1)", 1, 'bull:review-sync-doctor');
    return redis.info();
  });
  return /^maxmemory_policy:(.*?)\r?$/m.exec(info)?.[1];
}

/**
 * The result of a call to the queue that a caller waits for. If the server is down, BullMQ's connection waits
 * endlessly, which is right only for jobs.
 *
 * @throws ReviewSyncError that names QUEUE_URL if the queue does not respond in time, or with the error of its server.
 */
export function respondsInTime<T>(call: Promise<T>, timeoutMs = 5000, failing = 'cannot be used'): Promise<T> {
  const failed = (why: string, cause?: unknown) => {
    const hint = 'Start its server, or correct QUEUE_URL. Without QUEUE_URL the queue is kept in the warehouse.';
    return new ReviewSyncError('queue', `The queue (QUEUE_URL) ${why}`, { cause, hint });
  };
  const named = call.catch((error: unknown) => {
    throw error instanceof ReviewSyncError ? error : failed(failing, error);
  });
  return withTimeout(named, timeoutMs, () => failed(`did not respond within ${timeoutMs / 1000} seconds`));
}
