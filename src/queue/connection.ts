import { createPostgresBackend, createRedisBackend, runMigrations, withBackend } from 'bullmq';
import { BullMQOtel } from 'bullmq-otel';
import { Redis } from 'ioredis';
import pg from 'pg';
import { ReviewSyncError } from '../errors.ts';
import { answered } from './answered.ts';

/** BullMQ's classes bound to the server that QUEUE_URL names; the rest of src/queue does not know which it is. */
export type QueueClasses = {
  Queue: ReturnType<typeof redisClasses>['Queue'];
  Worker: ReturnType<typeof redisClasses>['Worker'];
  connection: object;
};

/** Postgres schema of the queue's tables. */
const schema = 'bullmq';
const reachTimeoutMs = 10_000;

export function queueClasses(url: string): QueueClasses {
  if (isRedis(url)) return { ...redisClasses(), connection: { url, maxRetriesPerRequest: null } };
  // Every queue and worker has a pool of its own; small ones, so that ten processes fit Postgres' hundred connections.
  const connection = { connectionString: url, schema, max: 3, application_name: 'review-sync queue' };
  return { ...(withBackend(createPostgresBackend) as unknown as ReturnType<typeof redisClasses>), connection };
}

const redisClasses = () => withBackend(createRedisBackend);

/** Spans of jobs, which link a run with its steps over machines; without an OpenTelemetry SDK they cost nothing. */
export const telemetry = () => new BullMQOtel({ tracerName: 'review-sync' });

export const isRedis = (url: string) => /^rediss?:/.test(url);

/** Brings the queue's own tables up to date; on Redis there is nothing to do. */
export async function migrateQueue(url: string): Promise<void> {
  if (isRedis(url)) return;
  await withClient(url, (client) => runMigrations(client, schema));
}

/**
 * Makes sure that the queue answers, since BullMQ itself would wait for it for ever without a word.
 *
 * @throws ReviewSyncError naming QUEUE_URL, with the driver's words.
 */
export async function checkQueue(url: string): Promise<void> {
  try {
    // A server that takes the connection and never speaks would be waited for without end.
    if (isRedis(url))
      await answered(
        withRedis(url, (redis) => redis.ping()),
        reachTimeoutMs,
      );
    else await withClient(url, (client) => client.query('select 1'));
  } catch (cause) {
    throw new ReviewSyncError('queue', 'The queue (QUEUE_URL) cannot be reached', {
      cause,
      hint: 'Start the server, or correct QUEUE_URL. Without it, the warehouse serves as the queue.',
    });
  }
}

/** One connection, for a question or two. */
export async function withRedis<T>(url: string, ask: (redis: Redis) => Promise<T>): Promise<T> {
  const redis = new Redis(url, { lazyConnect: true, retryStrategy: () => null, connectTimeout: reachTimeoutMs });
  // The call itself is only told that the connection was closed.
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

async function withClient<T>(url: string, use: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: reachTimeoutMs });
  try {
    await client.connect();
    return await use(client);
  } finally {
    await client.end();
  }
}
