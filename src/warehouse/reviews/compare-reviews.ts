import { endlessNumber, usableId } from '../../base/json-text.ts';
import { orRefusal, plannedRowsOf, type Warehouse } from '../index.ts';
import { type RawPage, recordsOf } from './land-reviews.ts';
import { notInLists, storableReview } from './review-columns.ts';

/**
 * `missing`: the warehouse lacks the review. `stale`: it holds other values. `reverted`: it holds a newer version than
 * the service shows. `refused`: it cannot store the review as it is.
 */
export type Difference = {
  id: number | null;
  kind: 'missing' | 'stale' | 'reverted' | 'refused';
  fields: string[];
};

/**
 * The reviews of a page that the warehouse lacks or holds with other values. If a page cannot be compared as a whole,
 * it is compared record by record.
 *
 * @param since when the comparison began, by the database's clock (`warehouseNow`): a newer version that landed since
 *   then is no difference.
 */
export async function comparePage(warehouse: Warehouse, page: RawPage, since?: Date): Promise<Difference[]> {
  const lacking = [...notInLists, ...page.check.lacking];
  const whole =
    page.check.faults.length === 0 && (await compare(warehouse, page.rawBody, page.check.count, lacking, since));
  if (whole) return whole;
  const found: Difference[] = [];
  for (const record of recordsOf(page)) found.push(...(await compareRecord(warehouse, record, lacking, since)));
  return found;
}

/** Compares a single review. Only fields that both sides have count. `record`: the review's JSON. */
export function compareOne(warehouse: Warehouse, record: Buffer, since?: Date): Promise<Difference[]> {
  const json = endlessNumber(record) === undefined ? storableReview(record) : undefined;
  return compareRecord(warehouse, { bytes: record, json }, null, since);
}

async function compareRecord(
  warehouse: Warehouse,
  { bytes, json }: { bytes: Buffer; json?: string | undefined },
  lacking: readonly string[] | null,
  since: Date | undefined,
): Promise<Difference[]> {
  const found = json === undefined ? undefined : await compare(warehouse, `[${json}]`, 1, lacking, since);
  return found ?? [{ id: usableId(JSON.parse(bytes.toString())) ?? null, kind: 'refused', fields: [] }];
}

/**
 * @param lacking fields that do not count if the response lacks them; null: only fields that both have count.
 * @returns undefined if the database refuses a record.
 */
async function compare(
  warehouse: Warehouse,
  body: Buffer | string,
  records: number,
  lacking: readonly string[] | null,
  since: Date | undefined,
): Promise<Difference[] | undefined> {
  const values = [body, lacking, since ?? null];
  const found = await orRefusal(plannedRowsOf<Difference>(warehouse, 'compare_reviews', records, ...values));
  return found instanceof Error ? undefined : found;
}
