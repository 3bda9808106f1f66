import { shownValue } from '../../base/mask.ts';
import type { Span } from '../../base/time/span.ts';

/** A record that must not reach Postgres, and why. `index`: its place on the page, from 0. */
type RecordFault = { index: number; reason: string };

/** What landing and comparing need to know of a page beside its raw body. */
export type PageCheck = {
  /** Records on the page. */
  count: number;
  /**
   * Names of all fields that any record of the page has. What no record has, the page cannot know (`partialFields`).
   */
  fields: string[];
  faults: RecordFault[];
  /** The dates of each record, in the order of the page. */
  dates: Dates[];
  /** The products that the records name; a code may be empty. */
  products: Product[];
};

export type Product = { product_id: number; product_code: string };

/** Dates of a record in milliseconds since 1970; undefined where a date cannot be read (`millisecondsOf`). */
type Dates = Record<'created_at' | 'updated_at', number | undefined>;

/**
 * Checks what Postgres would accept and read otherwise than the service means it: ids beyond what a JavaScript number
 * can hold, and dates such as `infinity`, `now` or `20240101`. All other values are left to the types of the columns.
 *
 * @param items the page as `JSON.parse` gives it.
 * @param plausible the dates that a review may have, in seconds.
 */
export function checkPage(items: readonly unknown[], plausible: Span): PageCheck {
  const fields = new Set<string>();
  const faults: RecordFault[] = [];
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
  isRecord(item)
    ? { created_at: millisecondsOf(item.created_at), updated_at: millisecondsOf(item.updated_at) }
    : noDates;

function faultOf(item: unknown, dates: Dates, plausible: Span): string | undefined {
  if (!isRecord(item)) return `expected an object as a review, found ${shownValue(item)}`;
  if (usableId(item) === undefined) {
    return `expected id as an integer from 1 to ${Number.MAX_SAFE_INTEGER}, found ${shownValue(item.id)}`;
  }
  for (const name of ['created_at', 'updated_at'] as const) {
    const milliseconds = dates[name];
    if (milliseconds === undefined) {
      return `expected ${name} as an ISO 8601 date-time with an offset, found ${shownValue(item[name])}`;
    }
    if (milliseconds < plausible.start * 1000 || milliseconds >= plausible.end * 1000) {
      return (
        `expected ${name} between ${utcDay(plausible.start)} and ${utcDay(plausible.end)}, ` +
        `found ${new Date(milliseconds).toISOString()}`
      );
    }
  }
  return undefined;
}

/** The id of a review, an integer from 1 to 2^53 - 1; undefined where there is none. */
export function usableId(item: unknown): number | undefined {
  const id = isRecord(item) ? item.id : undefined;
  return typeof id === 'number' && Number.isSafeInteger(id) && id >= 1 ? id : undefined;
}

const isoDateTime = /^\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d(?::?\d\d)?)$/;
/** ISO 8601 allows an offset of hours alone, which the engine does not read. */
const hoursOnly = /T.*[+-]\d\d$/;

/**
 * Milliseconds since 1970 of an ISO 8601 date-time with an offset (docs/interface.md, "What the service does", 3);
 * undefined for anything else. A date-time without an offset is no instant: the spec promises an offset, and a guessed
 * zone would be wrong by hours.
 */
export function millisecondsOf(value: unknown): number | undefined {
  if (typeof value !== 'string' || !isoDateTime.test(value)) return undefined;
  const milliseconds = Date.parse(hoursOnly.test(value) ? `${value}:00` : value);
  return Number.isNaN(milliseconds) ? undefined : milliseconds;
}

export const isRecord = (item: unknown): item is Record<string, unknown> =>
  typeof item === 'object' && item !== null && !Array.isArray(item);

const utcDay = (second: number) => new Date(second * 1000).toISOString().slice(0, 10);
