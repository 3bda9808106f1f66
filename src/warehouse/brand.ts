import pLimit from 'p-limit';
import type pg from 'pg';

/** The name of a brand. Schemas and a role are named after it; Postgres cuts names at 63 characters. */
export const brandName = /^[a-z][a-z0-9_]{0,30}$/;

export const schemas = ['sync', 'warehouse', 'bi', 'review_sync_migrations'];
const anySchema = schemas.join('|');

/**
 * Finds the names of our schemas in a statement: before a dot, quoted or not (`sync.runs`, `"sync"."runs"`); after the word
 * `schema` (`create schema sync`); in `to_regnamespace('bi')`.
 */
const ourSchema = new RegExp(
  `(?<![\\w."-])(?:"(?:${anySchema})"|(?:${anySchema}))(?=\\.["\\w%])` +
    `|(?<=\\bschema (?:if not exists )?)(?:${anySchema})\\b` +
    `|(?<=\\bto_regnamespace\\(')(?:${anySchema})(?='\\))`,
  'g',
);

/** The text of a statement with the schemas of a brand, such as `sync_<brand>`. Values are parameters, never in the text. */
export const inBrand = (text: string, brand: string): string =>
  text.replaceAll(ourSchema, (schema) =>
    schema.endsWith('"') ? `${schema.slice(0, -1)}_${brand}"` : `${schema}_${brand}`,
  );

export type Connections = Pick<pg.Pool, 'connect' | 'query'>;

/**
 * Connections of a pool that all brands share. Every statement on them addresses the schemas of one brand.
 *
 * @param most connections that the brand may hold at a time. If its tables are locked, the other brands keep the rest.
 */
export function connectionsOfBrand(pool: pg.Pool, brand: string, most: number): Connections {
  const seats = pLimit(most);
  // Postgres finds a prepared statement by its name alone, so the name must contain the brand.
  const own = (query: unknown): unknown => {
    if (typeof query === 'string') return inBrand(query, brand);
    const { text, name } = query as pg.QueryConfig;
    return { ...(query as pg.QueryConfig), text: inBrand(text, brand), ...(name && { name: `${name} ${brand}` }) };
  };

  async function connect(): Promise<pg.PoolClient> {
    const connected = Promise.withResolvers<pg.PoolClient>();
    const released = Promise.withResolvers<void>();
    const hold = async () => {
      connected.resolve(await pool.connect());
      await released.promise;
    };
    seats(hold).catch(connected.reject);
    const client = await connected.promise;
    const query = (text: unknown, values?: unknown[]) => client.query(own(text) as string, values);
    const release = (error?: Error | boolean) => {
      released.resolve();
      client.release(error);
    };
    return { query, release } as unknown as pg.PoolClient;
  }

  const query = (text: unknown, values?: unknown[]) => seats(() => pool.query(own(text) as string, values));
  return { connect, query } as Connections;
}
