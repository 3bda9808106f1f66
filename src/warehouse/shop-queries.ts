import { sql } from 'kysely';
import type { Db } from './index.ts';

const zone = 'SHOP_TIME_ZONE';

/**
 * Records which queries a run reads orders by, and in which zone. One that differs from that of the run before is
 * marked as changed.
 *
 * @param hashes what `shop.queryHashes` returns.
 * @returns the last change that this run reads by, for `settleShopQueries`; null: none is open.
 */
export async function recordShopQueries(db: Db, hashes: Readonly<Record<string, string>>): Promise<string | null> {
  // As text: a date of JavaScript would lose the microseconds.
  const { rows } = await sql<{ last: string | null }>`
    update sync.settings set shop_queries = shop_queries || (
      select jsonb_object_agg(file, jsonb_strip_nulls(jsonb_build_object('hash', hash, 'changed_at', case
        when shop_queries #>> array[file, 'hash'] <> hash then to_jsonb(now())
        else shop_queries #> array[file, 'changed_at']
      end)))
      from jsonb_each_text(${JSON.stringify(hashes)}::jsonb) as given (file, hash)
    )
    returning (
      select max((value ->> 'changed_at')::timestamptz)::text from jsonb_each(shop_queries)
    ) as last`.execute(db);
  return rows[0]?.last ?? null;
}

/**
 * Records that all orders were read: none is left that an earlier query read.
 *
 * @param lastChange what `recordShopQueries` returned before the reading. A later change stays open.
 */
export async function settleShopQueries(db: Db, lastChange: string | null): Promise<void> {
  await sql`
    update sync.settings set shop_queries = (
      select jsonb_object_agg(key, case
        when (value ->> 'changed_at')::timestamptz <= ${lastChange}::timestamptz then value - 'changed_at' else value
      end)
      from jsonb_each(shop_queries)
    )
    where shop_queries <> '{}'`.execute(db);
}

/** `file`: a shop query without `.sql`, or `SHOP_TIME_ZONE`. */
export type ChangedQuery = { file: string; changedAt: Date };

/**
 * What changed of queries and zone, while orders that were read before may still stand at the service as they were
 * read.
 */
export async function changedShopQueries(db: Db): Promise<ChangedQuery[]> {
  const { rows } = await sql<ChangedQuery>`
    select key as file, (value ->> 'changed_at')::timestamptz as "changedAt"
    from sync.settings, jsonb_each(shop_queries)
    where value ? 'changed_at' and exists (select from sync.order_links)
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
