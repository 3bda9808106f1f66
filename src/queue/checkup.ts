import { withRedis } from './connection.ts';
import type { Queues } from './index.ts';

export type QueueFacts = {
  kind: 'redis' | 'postgres';
  version: string;
  /** Redis alone: what it does when its memory is full; anything but `noeviction` loses jobs. */
  evictionPolicy: string | undefined;
  /** Workers that take scheduled runs; undefined where the server cannot tell. */
  workers: number | undefined;
};

/** What the queue's server says of itself. Changes nothing. */
export async function readQueueFacts({ kind, url, bull }: Queues): Promise<QueueFacts> {
  if (kind === 'postgres') return { kind, version: '', evictionPolicy: undefined, workers: undefined };
  const info = await withRedis(url, (redis) => redis.info());
  const field = (name: string) => new RegExp(`^${name}:(.*?)\\r?$`, 'm').exec(info)?.[1];
  return {
    kind,
    version: field('redis_version') ?? '',
    evictionPolicy: field('maxmemory_policy'),
    workers: (await bull.scheduled.getWorkers()).length,
  };
}
