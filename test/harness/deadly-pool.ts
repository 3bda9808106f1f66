import type pg from 'pg';
import { openLog } from '../../src/base/log.ts';
import { openReviewApi } from '../../src/review-api/index.ts';

/** What a process has sent to its database so far, and when it dies. */
export type Calls = { total: number; die?: { at: number; when: 'before' | 'after' } | undefined; isDead: boolean };

export const alive = (): Calls => ({ total: 0, isDead: false });

/** The client of a process that may die: a dead one sends no request. `end` ends it in any case. */
export function openDeadlyApi(baseUrl: string, calls: Calls) {
  const abort = new AbortController();
  const { signal } = abort;
  const api = openReviewApi({
    ...{ baseUrl, clientId: 'demo', clientSecret: 'demo', concurrency: 4, signal, log: openLog('silent') },
    retry: { baseDelayMs: 1, maxDelayMs: 2 },
    // Asked before each request.
    acquire: async () => {
      if (calls.isDead) throw new Error('dead');
    },
  });
  const end = () => {
    abort.abort();
    return api.close();
  };
  return { api, signal, end };
}

/**
 * A pool that counts the statements sent through it, and dies before or after the n-th: from then on none has any
 * effect. The code that opened the pool below closes it.
 */
export function deadlyPool(pool: pg.Pool, calls: Calls): pg.Pool {
  const strike = (number: number, when: 'before' | 'after') => {
    if (calls.die?.at === number && calls.die.when === when) calls.isDead = true;
    if (calls.isDead) throw new Error('dead');
  };
  async function send<T>(statement: () => Promise<T>): Promise<T> {
    calls.total += 1;
    const number = calls.total;
    strike(number, 'before');
    try {
      return await statement();
    } finally {
      // One that the server refused was sent, too.
      strike(number, 'after');
    }
  }
  const deadly = {
    end: async () => {},
    query: (...given: Parameters<pg.PoolClient['query']>) => send(async () => pool.query(...given)),
    async connect() {
      const client = await pool.connect();
      return {
        query: (...given: Parameters<pg.PoolClient['query']>) => send(async () => client.query(...given)),
        // The connections of a dead process are closed, and its locks with them.
        release: () => client.release(calls.isDead),
      };
    },
  };
  return deadly as unknown as pg.Pool;
}
