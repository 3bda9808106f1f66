import { withRedis } from './connection.ts';
import type { Queues } from './index.ts';

export type QueueFacts =
  | {
      kind: 'redis';
      version: string;
      /** What it does when its memory is full. Anything but `noeviction` loses jobs. */
      evictionPolicy: string | undefined;
      /** Workers that take scheduled runs. Postgres does not know them. */
      workers: number;
    }
  | { kind: 'postgres' };

/** Facts about the queue's server. Changes nothing. */
export async function readQueueFacts({ kind, url, bull }: Queues): Promise<QueueFacts> {
  if (kind === 'postgres') return { kind };
  const info = await withRedis(url, (redis) => redis.info());
  const field = (name: string) => new RegExp(`^${name}:(.*?)\\r?$`, 'm').exec(info)?.[1];
  const workers = (await bull.scheduled.getWorkers()).length;
  return { kind, version: field('redis_version') ?? '', evictionPolicy: field('maxmemory_policy'), workers };
}

/** Whether the queue fails because its tables in Postgres were never created. */
export const lacksTables = (error: unknown): boolean =>
  error instanceof Error && error.name === 'SchemaMigrationRequiredError';
