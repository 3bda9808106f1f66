import { sql } from 'kysely';
import { isoOf, type Span } from '../span.ts';
import type { Db, Warehouse } from './index.ts';
import { isErrorOfTheData, itemsOf, type RawPage } from './reviews.ts';

/** `refused`: the warehouse cannot hold it, as it is. */
export type Difference = { id: number | null; kind: 'missing' | 'stale' | 'refused'; fields: string[] };

/**
 * Which reviews of a page the warehouse lacks or holds otherwise. A page that cannot be compared as a whole is compared
 * one by one.
 */
export async function comparePage(warehouse: Warehouse, page: RawPage): Promise<Difference[]> {
  try {
    return await compare(warehouse, page.rawBody);
  } catch (error) {
    if (!isErrorOfTheData(error)) throw error;
  }
  const found: Difference[] = [];
  for (const item of itemsOf(page.rawBody.toString())) found.push(...(await compareOne(warehouse, item)));
  return found;
}

/** The same for the JSON of a review alone, of which, `onlyCommon`, only the fields count that both have. */
export async function compareOne(warehouse: Warehouse, json: string, onlyCommon = false): Promise<Difference[]> {
  try {
    return await compare(warehouse, `[${json}]`, onlyCommon);
  } catch (error) {
    if (!isErrorOfTheData(error)) throw error;
    const item: unknown = JSON.parse(json);
    const id = typeof item === 'object' && item !== null && 'id' in item ? Number(item.id) : Number.NaN;
    return [{ id: Number.isSafeInteger(id) ? id : null, kind: 'refused', fields: [] }];
  }
}

async function compare(warehouse: Warehouse, body: Buffer | string, onlyCommon = false): Promise<Difference[]> {
  const text = warehouse.statements.compareReviews;
  const { rows } = await warehouse.pool.query({ name: 'compare_reviews', text, values: [body, onlyCommon] });
  return rows as Difference[];
}

/** Reviews created in the spans (ends left out) that are not marked deleted, by calendar month in the zone. */
export async function countByMonth(db: Db, spans: readonly Span[], timeZone: string): Promise<Map<string, number>> {
  const ranges = spans.map(({ start, end }) => `[${isoOf(start)},${isoOf(end)})`);
  const { rows } = await sql<{ month: string; n: number }>`
    select to_char(created_at at time zone ${timeZone}, 'YYYY-MM') as month, count(*)::integer as n
    from warehouse.reviews
    where deleted_at is null and exists (select from unnest(${ranges}::tstzrange[]) as span where created_at <@ span)
    group by 1`.execute(db);
  return new Map(rows.map(({ month, n }) => [month, n]));
}
