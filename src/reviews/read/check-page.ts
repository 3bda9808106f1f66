import {
  endlessNumber,
  isRecord,
  mayBeEndless,
  scalarText,
  splitRecords,
  usableId,
  withField,
} from '../../base/json-text.ts';
import { shownValue } from '../../base/mask.ts';
import { isoOf, parseInstant, type Second, type Span } from '../../base/time/span.ts';
import type { RawReview } from '../../review-api/index.ts';
import type { RawPage } from '../../warehouse/reviews/land-reviews.ts';
import { lackingAlone, lackingInList } from '../../warehouse/reviews/review-columns.ts';

/** What a page shows besides its raw body. `dates`: the dates of each record, in the order of the page. */
type PageCheck = RawPage['check'] & { dates: Dates[] };

/** Dates of a record; undefined if one cannot be read (`parseInstant`). No date of an update: there was none. */
type Dates = Record<'created_at' | 'updated_at', Second | undefined>;

/**
 * Checks values that Postgres would accept and misread: ids beyond what a JavaScript number
 * can hold, dates such as `infinity`, `now` or `20240101`, scores that are none, and numbers beyond any that JavaScript
 * knows. All other values are left to the types of the columns.
 *
 * @param items the page as `JSON.parse` gives it. `rawBody`: the page as it came.
 * @param plausible the dates that a review may have, in seconds.
 */
export function checkPage(items: readonly unknown[], plausible: Span, rawBody: Buffer): PageCheck {
  const endless = endlessNumbers(rawBody);
  const faults: PageCheck['faults'] = [];
  const codes = new Map<number, string>();
  const dates = items.map(datesOf);
  for (const [index, item] of items.entries()) {
    if (isRecord(item)) {
      const { product_id, product_code: code } = item;
      const id = usableId({ id: product_id });
      if (id !== undefined) codes.set(id, scalarText(code) ?? '');
    }
    const reason = endless.get(index) ?? faultOf(item, dates[index] as Dates, plausible);
    if (reason !== undefined) faults.push({ index, reason });
  }
  const products = [...codes].map(([product_id, product_code]) => ({ product_id, product_code }));
  const lacking = lackingInList(items.filter(isRecord));
  return { count: items.length, fields: null, lacking, faults, dates, products };
}

function datesOf(item: unknown): Dates {
  const { created_at, updated_at }: Record<string, unknown> = isRecord(item) ? item : {};
  const isNone = updated_at === null || updated_at === '';
  return { created_at: parseInstant(created_at), updated_at: parseInstant(isNone ? created_at : updated_at) };
}

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
  const { score } = item;
  // Zero and an empty text are no rating, too (docs/interface.md, "Reviews").
  const isScore = score == null || /^(?:[0-5](?:\.0+)?)?$/.test(scalarText(score) ?? 'none');
  return isScore ? undefined : `expected score as null or a whole number from 1 to 5, found ${shownValue(score)}`;
}

/** Records with a number that Postgres must not get, and why each is at fault. */
function endlessNumbers(rawBody: Buffer): Map<number, string> {
  const found = new Map<number, string>();
  if (!mayBeEndless(rawBody)) return found;
  for (const [index, record] of splitRecords(rawBody).entries()) {
    const number = endlessNumber(record);
    if (number !== undefined) found.set(index, `expected finite numbers, found ${shownValue(number)}`);
  }
  return found;
}

const utcDay = (second: Second) => isoOf(second).slice(0, 10);

/**
 * The page of a review that was read by its id. Such a response has `comments`, a list has `comments_count`
 * (docs/interface.md, "Review"): they are counted. Its product id is not learned: a webhook may have named the review.
 *
 * @param listed the fields of `extra` that a list has shown of the review, whose comments are read: what only this response shows
 *   beside them stays out, for the next list would take it off again.
 */
export function pageOfOne({ item, rawBody }: RawReview, plausible: Span, listed?: readonly string[]): RawPage {
  let record = rawBody.toString('latin1');
  // As `storableRecord` writes them.
  const fields = Object.keys(item).map((name) => name.toWellFormed().replaceAll('\u0000', '\ufffd'));
  const lacking = [...lackingAlone(item), ...(listed ? ['comments_count', 'tag_name'] : [])];
  const leftOut = listed ? fields.filter((name) => name !== 'comments' && !listed.includes(name)) : [];
  if (!('comments_count' in item) && Array.isArray(item.comments)) {
    fields.push('comments_count');
    record = withField(record, 'comments_count', String(item.comments.length));
  }
  const page = Buffer.from(`[${record}]`, 'latin1');
  return {
    rawBody: page,
    check: { ...checkPage([item], plausible, page), fields, lacking, leftOut, products: [] },
  };
}
