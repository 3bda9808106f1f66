import { isRecord, usableId, withField } from '../../base/json-text.ts';
import { shownValue } from '../../base/mask.ts';
import { isoOf, parseInstant, type Second, type Span } from '../../base/time/span.ts';
import type { RawReview } from '../../review-api/index.ts';
import type { RawPage } from '../../warehouse/reviews/land-reviews.ts';

/** What a page shows beside its raw body. `dates`: those of each record, in the order of the page. */
type PageCheck = RawPage['check'] & { dates: Dates[] };

/** Dates of a record; undefined where one cannot be read (`parseInstant`). */
type Dates = Record<'created_at' | 'updated_at', Second | undefined>;

/**
 * Checks what Postgres would accept and read otherwise than the service means it: ids beyond what a JavaScript number
 * can hold, and dates such as `infinity`, `now` or `20240101`. All other values are left to the types of the columns.
 *
 * @param items the page as `JSON.parse` gives it.
 * @param plausible the dates that a review may have, in seconds.
 */
export function checkPage(items: readonly unknown[], plausible: Span): PageCheck {
  const fields = new Set<string>();
  const faults: PageCheck['faults'] = [];
  const codes = new Map<number, string>();
  const dates = items.map(datesOf);
  for (const [index, item] of items.entries()) {
    if (isRecord(item)) {
      for (const name in item) fields.add(name);
      const { product_id: id, product_code: code } = item;
      if (Number.isSafeInteger(id)) codes.set(id as number, typeof code === 'string' ? code : '');
    }
    const reason = faultOf(item, dates[index] ?? noDates, plausible);
    if (reason !== undefined) faults.push({ index, reason });
  }
  const products = [...codes].map(([product_id, product_code]) => ({ product_id, product_code }));
  return { count: items.length, fields: [...fields].map(storableName), faults, dates, products };
}

/** The name as `storableRecord` writes it. */
const storableName = (name: string) => name.toWellFormed().replaceAll('\u0000', '\ufffd');

const noDates: Dates = { created_at: undefined, updated_at: undefined };

const datesOf = (item: unknown): Dates =>
  isRecord(item) ? { created_at: parseInstant(item.created_at), updated_at: parseInstant(item.updated_at) } : noDates;

function faultOf(item: unknown, dates: Dates, plausible: Span): string | undefined {
  if (!isRecord(item)) return `expected an object as a review, found ${shownValue(item)}`;
  if (usableId(item) === undefined) {
    return `expected id as an integer from 1 to ${Number.MAX_SAFE_INTEGER}, found ${shownValue(item.id)}`;
  }
  for (const name of ['created_at', 'updated_at'] as const) {
    const second = dates[name];
    if (second === undefined) {
      return `expected ${name} as an ISO 8601 date-time with an offset, found ${shownValue(item[name])}`;
    }
    if (second < plausible.start || second >= plausible.end) {
      return `expected ${name} between ${utcDay(plausible.start)} and ${utcDay(plausible.end)}, found ${isoOf(second)}`;
    }
  }
  return undefined;
}

const utcDay = (second: Second) => isoOf(second).slice(0, 10);

/**
 * The page of a review that was read by its id. Such a response has `comments` where a list has `comments_count`
 * (docs/interface.md, "Review"): they are counted. Its product id is not learned: a webhook may have named the review.
 */
export function pageOfOne({ item, rawBody }: RawReview, plausible: Span): RawPage {
  const check = { ...checkPage([item], plausible), products: [] };
  let record = rawBody.toString('latin1');
  if (!('comments_count' in item) && Array.isArray(item.comments)) {
    check.fields.push('comments_count');
    record = withField(record, 'comments_count', String(item.comments.length));
  }
  return { rawBody: Buffer.from(`[${record}]`, 'latin1'), check };
}
