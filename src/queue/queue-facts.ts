import { withClient, withRedis } from './connection.ts';
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
  | ({ kind: 'postgres' } & Access);

/** Facts about the queue's server. Changes nothing. */
export async function readQueueFacts({ kind, url, bull }: Queues): Promise<QueueFacts> {
  if (kind === 'postgres') return { kind, ...(await readAccess(url)) };
  const info = await withRedis(url, (redis) => redis.info());
  const field = (name: string) => new RegExp(`^${name}:(.*?)\\r?$`, 'm').exec(info)?.[1];
  const workers = (await bull.scheduled.getWorkers()).length;
  return { kind, version: field('redis_version') ?? '', evictionPolicy: field('maxmemory_policy'), workers };
}

type Access = {
  /** Users with bi_reader that may connect to the queue's database, except superusers and its owner. */
  readers: string[];
  /** The name of the queue's database, as SQL writes it. */
  database: string;
};

/** Who else may connect to the queue's database. Advisory locks, which BullMQ takes, need no other right. */
async function readAccess(url: string): Promise<Access> {
  return withClient(url, async (client) => {
    const { rows } = await client.query<Access>(`
      select quote_ident(current_database()) as database, array(
        select r.rolname::text
        from pg_roles r
        join pg_roles reader on reader.rolname = 'bi_reader'
        where r.rolcanlogin and not r.rolsuper and r.rolname <> current_user
          and pg_has_role(r.oid, reader.oid, 'usage')
          and has_database_privilege(r.oid, current_database(), 'connect')
        order by 1
      ) as readers`);
    return rows[0] ?? { readers: [], database: '' };
  });
}

/** Whether the queue fails because its tables in Postgres were never created. */
export const lacksTables = (error: unknown): boolean =>
  error instanceof Error && error.name === 'SchemaMigrationRequiredError';
