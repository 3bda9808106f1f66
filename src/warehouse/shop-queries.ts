import { sql } from 'kysely';
import type { Db } from './index.ts';

const zone = 'SHOP_TIME_ZONE';

/**
 * What says how an order is read: two shop queries and the zone of their dates. changed_orders.sql only says when to
 * look.
 */
const files: readonly string[] = ['orders', 'order_lines', zone];

/**
 * Records which queries a run reads orders by, and in which zone. One that differs from that of the run before is
 * marked as changed.
 *
 * @param hashes SHA-256 of each query, by file without `.sql`, and of the zone, by `SHOP_TIME_ZONE`.
 * @returns the last change that this run reads by, for `settleShopQueries`; null: none is open.
 */
export async function recordShopQueries(db: Db, hashes: Readonly<Record<string, string>>): Promise<string | null> {
  const given = files.flatMap((file) => (hashes[file] === undefined ? [] : { file, hash: hashes[file] }));
  await sql`
    insert into sync.shop_queries as known (file, hash)
    select file, hash from jsonb_to_recordset(${JSON.stringify(given)}::jsonb) as g (file text, hash text)
    on conflict (file) do update set hash = excluded.hash, seen_at = now(),
      changed_at = case when known.hash = excluded.hash then known.changed_at else now() end`.execute(db);
  // As text: a date of JavaScript would lose the microseconds.
  const { rows } = await sql<{ last: string | null }>`
    select max(changed_at)::text as last from sync.shop_queries`.execute(db);
  return rows[0]?.last ?? null;
}

/**
 * Records that all orders were read: none is left that an earlier query read.
 *
 * @param lastChange what `recordShopQueries` returned before the reading. A later change stays open.
 */
export async function settleShopQueries(db: Db, lastChange: string | null): Promise<void> {
  await sql`update sync.shop_queries set changed_at = null where changed_at <= ${lastChange}::timestamptz`.execute(db);
}

/** `file`: a shop query without `.sql`, or `SHOP_TIME_ZONE`. */
export type ChangedQuery = { file: string; changedAt: Date };

/**
 * What changed of queries and zone, while orders that were read before may still stand at the service as they were
 * read.
 */
export async function changedShopQueries(db: Db): Promise<ChangedQuery[]> {
  const { rows } = await sql<ChangedQuery>`
    select file, changed_at as "changedAt" from sync.shop_queries
    where changed_at is not null and exists (select from sync.order_links)
    order by file`.execute(db);
  return rows;
}

/** What that means and what to do; undefined where nothing changed. */
export function changedQueriesNote(changed: readonly ChangedQuery[]): { what: string; hint: string } | undefined {
  if (changed.length === 0) return undefined;
  const names = changed.map(({ file }) => (file === zone ? zone : `${file}.sql`)).join(' and ');
  const isZone = changed.some(({ file }) => file === zone);
  const isQuery = changed.some(({ file }) => file !== zone);
  const how = [...(isQuery ? ['by the earlier query'] : []), ...(isZone ? ['in the earlier zone'] : [])].join(' and ');
  const at = new Date(Math.max(...changed.map(({ changedAt }) => changedAt.getTime())));
  const when = at.toISOString().slice(0, 16).replace('T', ' ');
  return {
    what: `${names} changed on ${when} UTC: orders that were pushed before were read ${how}`,
    hint:
      'npx review-sync backfill orders reads them all again and sends what differs; ' +
      'sync reconcile does this for young orders only',
  };
}
