/** What `status`, `doctor` and the next run say once orders were read by other queries than now. */
export const queriesChanged =
  'orders.sql, order_lines.sql or SHOP_TIME_ZONE has changed: orders that were pushed before are at the service as they ' +
  'were read then';

export const queriesChangedHint =
  'review-sync backfill orders sends those that differ now, and ends this notice; ' +
  'look first: review-sync backfill orders --dry-run --diff --limit 20';
