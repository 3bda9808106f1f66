import type { Db } from './index.ts';

/** Marks what is remembered of these orders as unsure: the next push of each compares it with what the service shows. */
export async function markOrdersUnsure(db: Db, codes: readonly string[]): Promise<void> {
  if (codes.length === 0) return;
  await db
    .updateTable('sync.order_links')
    .set({ fingerprint: null, lines_unsure: true })
    .where('order_code', 'in', codes)
    .execute();
}
