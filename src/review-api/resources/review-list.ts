import type { Params } from '../http/call.ts';
import {
  optionalId,
  optionalText,
  requireDateTime,
  requireDay,
  requireLimit,
  requirePage,
  requireScore,
} from './check.ts';

/** Limits of the list of reviews (docs/interface.md, "Limits"). */
export const reviewListLimits = { page: 30, days: 45 } as const;

/**
 * The period to list: whole days (`yyyy-mm-dd`) or times (`yyyy-mm-dd hh:mm:ss`), one kind only, in the service's zone,
 * both ends included, at most 45 days. Without it the last 30 days; an end that is left out is the service's default:
 * 30 days before, the end of the request day (docs/interface.md, "Reviews").
 */
export type ReviewPeriod =
  | {
      start_date?: string | undefined;
      end_date?: string | undefined;
      start_datetime?: undefined;
      end_datetime?: undefined;
    }
  | {
      start_datetime?: string | undefined;
      end_datetime?: string | undefined;
      start_date?: undefined;
      end_date?: undefined;
    };

/** Filters, all of which must match, and the order of the list (docs/interface.md, "Reviews"). */
export type ReviewFilters = {
  /** The service's product id. */
  product_id?: number | undefined;
  /** The shop's. */
  product_code?: string | undefined;
  /** The author's account in the shop. */
  user_code?: string | undefined;
  category_id?: number | undefined;
  category_code?: string | undefined;
  /** 1 to 5; 0 for reviews without rating. */
  score?: 0 | 1 | 2 | 3 | 4 | 5 | undefined;
  /** Photo reviews only. */
  photo?: boolean | undefined;
  /** The period is about the date of update; else it is about that of creation. */
  date_updated_at?: boolean | undefined;
  /** Newest first; else oldest first. */
  date_order_desc?: boolean | undefined;
  tag_name?: string | undefined;
  /** The external partner by whom it was integrated. */
  third_party_name?: string | undefined;
  sub_brand_id?: number | undefined;
  sub_brand_code?: string | undefined;
};

/** What to list, in pages of `limit` (1 to 100, default 100). */
export type ReviewListAllParams = ReviewFilters & ReviewPeriod & { limit?: number | undefined };

/** What to list, and which page of it: `page` from 1, the default, to 30. */
export type ReviewListParams = ReviewListAllParams & { page?: number | undefined };

/** The query of a list. @throws TypeError for a value that the service would misread or ignore. */
export function listQuery(params: ReviewListAllParams, page: number): Params {
  requireForms(params);
  const flag = (isSet: boolean | undefined) => (isSet ? 1 : undefined);
  return {
    start_date: params.start_date,
    end_date: params.end_date,
    start_datetime: params.start_datetime,
    end_datetime: params.end_datetime,
    date_updated_at: flag(params.date_updated_at),
    date_order_desc: flag(params.date_order_desc),
    limit: requireLimit(params.limit ?? 100),
    page: requirePage(page, reviewListLimits.page),
    score: params.score === undefined ? undefined : requireScore(params.score, 0),
    product_id: optionalId(params.product_id, 'product_id'),
    product_code: optionalText(params.product_code, 'product_code'),
    user_code: optionalText(params.user_code, 'user_code'),
    category_id: optionalId(params.category_id, 'category_id'),
    category_code: optionalText(params.category_code, 'category_code'),
    photo: flag(params.photo),
    tag_name: optionalText(params.tag_name, 'tag_name'),
    third_party_name: optionalText(params.third_party_name, 'third_party_name'),
    sub_brand_id: optionalId(params.sub_brand_id, 'sub_brand_id'),
    sub_brand_code: optionalText(params.sub_brand_code, 'sub_brand_code'),
  };
}

/**
 * Checks that a period ends after it starts and has at most 45 days by the calendar.
 *
 * @param nowMs milliseconds since 1970; the end of a period without an end depends on it.
 * @throws TypeError before anything is sent.
 */
export function requirePeriod(period: ReviewPeriod, nowMs: number): void {
  const { start, end } = requireForms(period);
  if (start === undefined) return;
  if (end !== undefined && end < start) throw new TypeError('expected a period that starts before it ends');
  // The service ends such a period with the request day in its zone. West of all zones, that day ends first.
  const westernmostMs = nowMs - 12 * 3_600_000;
  const lengthMs = (end ?? Math.floor(westernmostMs / dayMs) * dayMs + lastSecondMs) - start;
  if (lengthMs <= reviewListLimits.days * dayMs) return;
  throw new TypeError(
    `expected a period of at most ${reviewListLimits.days} days, got ${(lengthMs / dayMs).toFixed(2)}: ` +
      'read it in parts',
  );
}

const dayMs = 86_400_000;
const lastSecondMs = dayMs - 1_000;

/** First and last second of a well-formed period, in milliseconds since 1970, as if its zone were UTC. */
function requireForms(period: ReviewPeriod): { start: number | undefined; end: number | undefined } {
  const { start_date, end_date, start_datetime, end_datetime } = period;
  const isDays = start_date !== undefined || end_date !== undefined;
  if (isDays && (start_datetime !== undefined || end_datetime !== undefined)) {
    throw new TypeError('expected the period in days or in times, got both: the service ignores the days');
  }
  const lastDay = end_date === undefined ? undefined : requireDay(end_date, 'end_date');
  return isDays
    ? {
        start: start_date === undefined ? undefined : requireDay(start_date, 'start_date'),
        end: lastDay === undefined ? undefined : lastDay + lastSecondMs,
      }
    : {
        start: start_datetime === undefined ? undefined : requireDateTime(start_datetime, 'start_datetime'),
        end: end_datetime === undefined ? undefined : requireDateTime(end_datetime, 'end_datetime'),
      };
}
