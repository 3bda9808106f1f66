import type { ReviewApi, ReviewFilters } from '../review-api/index.ts';
import { askedSpan, localPeriod, parseInstant, type Second, type Span } from '../span.ts';
import { plainFields } from '../warehouse/plain-reviews.ts';
import { type Axis, windowLimits } from './window.ts';

export type PageDeps = {
  reviews: Pick<ReviewApi['reviews'], 'page'>;
  /** The zone in which the service reads dates without offset. */
  timeZone: string;
  signal: AbortSignal;
  /** The service's limits; other ones are for tests. */
  limits?: Limits;
};

export type Limits = Readonly<{ pages: number; pageSize: number }>;

/** What to list: a span of an axis, narrowed where the span alone holds too much. */
export type PageQuery = Readonly<{
  axis: Axis;
  span: Span;
  score?: NonNullable<ReviewFilters['score']>;
  photo?: boolean;
  productId?: number;
  /** From the other end. */
  desc?: boolean;
}>;

export type Product = { product_id: number; product_code: string };

/** One answer of the list: it shows the service at one moment, so that nothing shifts inside it. */
export type Page = {
  /** JSON in UTF-8. */
  rawBody: Buffer;
  /** Whether its records have `plainFields` alone. */
  isPlain: boolean;
  /** One an item; of a record without a usable id, the record itself. */
  ids: string[];
  /** One an item: the second of its date on the axis; undefined where it has none that can be read. */
  seconds: (Second | undefined)[];
  /** The date of a record that was not asked for. */
  stray: Second | undefined;
  /** The products that its records name; a code may be empty. */
  products: readonly Product[];
  lastPage: number | undefined;
  requestedAt: Date;
};

export const limitsOf = (deps: PageDeps): Limits => deps.limits ?? windowLimits;

/** Asks for one page (spec, "List reviews"). Both ends of the span belong to it. */
export async function fetchPage(deps: PageDeps, query: PageQuery, page: number, limit?: number): Promise<Page> {
  deps.signal.throwIfAborted();
  const { axis, span, desc, productId, ...filters } = query;
  const period = localPeriod(span, deps.timeZone);
  const params = {
    ...filters,
    product_id: productId,
    start_datetime: period.start,
    end_datetime: period.end,
    date_updated_at: axis === 'updated',
    date_order_desc: desc,
    limit: limit ?? limitsOf(deps).pageSize,
  };
  const fields = ['id', `${axis}_at`, 'product_id', 'product_code'];
  const { items, ...answer } = await deps.reviews.page(params, page, { fields, plain: plainFields });
  const seconds = items.map((item) => secondOn(item, axis));
  const asked = askedSpan(span, deps.timeZone);
  const stray = seconds.find((second) => second !== undefined && (second < asked.start || second > asked.end));
  // Only what is asked for later is kept: whole records would live until the page has landed.
  return { ...answer, ids: idsOf(items, answer.rawBody), seconds, stray, products: productsOf(items) };
}

/** Whether the dates go upwards. Records without a date do not count: wherever they stand, they are on the page. */
export function isOrdered(seconds: readonly (Second | undefined)[]): boolean {
  let before = Number.NEGATIVE_INFINITY;
  for (const second of seconds) {
    if (second === undefined) continue;
    if (second < before) return false;
    before = second;
  }
  return true;
}

/**
 * The number of records, told by the last page when a page holds one. A number that is the greatest a page may have, or
 * less, is a cap and says nothing; neither does a service that gives more than the one asked for.
 */
export async function totalOf(deps: PageDeps, query: PageQuery): Promise<number | undefined> {
  const { lastPage, ids } = await fetchPage(deps, query, 1, 1);
  return ids.length === 1 && lastPage !== undefined && lastPage > limitsOf(deps).pages ? lastPage : undefined;
}

/** Leaves a byte order mark out. */
const decoder = new TextDecoder();

/** A record without a usable id is still landed, as a dead letter; here it only has to differ from others. */
function idsOf(items: readonly unknown[], rawBody: Buffer): string[] {
  const ids = items.map(idOf);
  if (ids.every((id) => id !== undefined)) return ids;
  const whole: unknown[] = JSON.parse(decoder.decode(rawBody));
  return ids.map((id, index) => id ?? printed(whole[index]));
}

function idOf(item: unknown): string | undefined {
  const id = isObject(item) ? item.id : undefined;
  return typeof id === 'number' || typeof id === 'string' ? String(id) : undefined;
}

function printed(item: unknown): string {
  try {
    return JSON.stringify(item) ?? '';
  } catch {
    // Nested too deep to be printed.
    return 'unprintable';
  }
}

function productsOf(items: readonly unknown[]): Product[] {
  const codes = new Map<number, string>();
  for (const item of items) {
    if (!isObject(item) || !Number.isSafeInteger(item.product_id)) continue;
    codes.set(item.product_id as number, typeof item.product_code === 'string' ? item.product_code : '');
  }
  return [...codes].map(([product_id, product_code]) => ({ product_id, product_code }));
}

function secondOn(item: unknown, axis: Axis): Second | undefined {
  const date = isObject(item) ? item[`${axis}_at`] : undefined;
  return typeof date === 'string' ? parseInstant(date) : undefined;
}

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null;
