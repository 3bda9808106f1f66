import { withRedis } from './connection.ts';
import type { Queues } from './index.ts';

/** What Redis does when its memory is full: anything but `noeviction` loses jobs. Undefined on Postgres. */
export async function evictionPolicy({ kind, url }: Queues): Promise<string | undefined> {
  if (kind === 'postgres') return undefined;
  return /^maxmemory_policy:(.*?)\r?$/m.exec(await withRedis(url, (redis) => redis.info()))?.[1];
}
