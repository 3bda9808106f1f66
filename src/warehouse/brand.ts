import pLimit from 'p-limit';
import type pg from 'pg';

/** The name of a brand. Schemas and a role are named after it; Postgres cuts names at 63 characters. */
export const brandName = /^[a-z][a-z0-9_]{0,30}$/;

/** Our schemas. */
const schemas = 'sync|warehouse|bi|review_sync_migrations';

/**
 * Where a statement names one of our schemas:
 *
 * 1. before a dot, quoted or not: `sync.runs`, `"sync"."runs"`, `'sync.runs'::regclass`;
 * 2. after the word: `create schema sync`, `grant usage on schema bi`;
 * 3. as the text of `to_regnamespace('bi')`.
 */
const ourSchema = new RegExp(
  `(?<![\\w."-])(?:"(?:${schemas})"|(?:${schemas}))(?=\\.["\\w%])` +
    `|(?<=\\bschema (?:if not exists )?)(?:${schemas})\\b` +
    `|(?<=\\bto_regnamespace\\(')(?:${schemas})(?='\\))`,
  'g',
);

/**
 * The text of a statement for a brand: its schemas are `sync_<brand>`, `warehouse_<brand>`, `bi_<brand>` and
 * `review_sync_migrations_<brand>`. Values are parameters, and are never in the text.
 */
export const inBrand = (text: string, brand: string): string =>
  text.replaceAll(ourSchema, (schema) =>
    schema.endsWith('"') ? `${schema.slice(0, -1)}_${brand}"` : `${schema}_${brand}`,
  );

/**
 * The view of a pool through which every statement is one for a brand: all brands share the connections, and no
 * statement knows a brand.
 *
 * @param most connections that the brand holds at a time: one whose tables are locked leaves the others theirs.
 */
export function poolOfBrand(pool: pg.Pool, brand: string, most: number): pg.Pool {
  const seats = pLimit(most);
  const clients = new WeakMap<pg.PoolClient, pg.PoolClient>();
  // A connection knows prepared statements by name.
  const own = (query: unknown): unknown => {
    if (typeof query === 'string') return inBrand(query, brand);
    const { text, name } = query as pg.QueryConfig;
    return { ...(query as pg.QueryConfig), text: inBrand(text, brand), ...(name && { name: `${name} ${brand}` }) };
  };
  const view = <T extends object>(of: T, replaced: Record<string, unknown>): T =>
    new Proxy(of, {
      get(target, key) {
        if (typeof key === 'string' && key in replaced) return replaced[key];
        const value: unknown = Reflect.get(target, key);
        return typeof value === 'function' ? value.bind(target) : value;
      },
    });
  const queryOf = (client: pg.PoolClient) => (query: unknown, values?: unknown[]) =>
    client.query(own(query) as string, values);

  function connect(): Promise<pg.PoolClient> {
    return new Promise((resolve, reject) => {
      void seats(async () => {
        const client = await pool.connect();
        const release = client.release;
        return new Promise<void>((leave) => {
          client.release = (error) => {
            client.release = release;
            leave();
            release.call(client, error);
          };
          const known = clients.get(client) ?? view(client, { query: queryOf(client) });
          clients.set(client, known);
          resolve(known);
        });
      }).catch(reject);
    });
  }

  async function query(text: unknown, values?: unknown[]) {
    const client = await connect();
    try {
      const result = await client.query(text as string, values);
      client.release();
      return result;
    } catch (error) {
      // As pg's own pool does: nobody knows in which state the connection is.
      client.release(error as Error);
      throw error;
    }
  }
  return view(pool, { connect, query });
}
