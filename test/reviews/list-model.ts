import { DateTime } from 'luxon';
import { NotFoundError, RefusedError, type ReviewListAllParams, UnavailableError } from '../../src/review-api/index.ts';
import type { ReadDeps } from '../../src/reviews/review-deps.ts';

export type ModelReview = { id: number; createdMs: number; updatedMs: number; score: number | null; productId: number };

/**
 * What pages name as the last: the real one; at most the greatest that may be asked for; none; none on the last page
 * itself, as GitHub does; that of page 1 only; the greatest that may be asked for, always; the one that pages of the
 * size asked for would have; half of the pages, as a count from before an import.
 */
export type LastPage =
  | 'real'
  | 'capped'
  | 'absent'
  | 'not on the last'
  | 'only on page 1'
  | 'fixed'
  | 'for the limit'
  | 'cached';

/** How a service may read the spec. */
export type Mood = {
  zone: string;
  lastPage: LastPage;
  /** The service's own greatest page. */
  pageSize: number;
  /** Whether a page begins where pages of the size asked for would, although each holds at most `pageSize`. */
  leavesOut?: boolean;
  /** Whether the end of a period means its whole second, its first millisecond, or is left out. */
  end: 'second' | 'millisecond' | 'excluded';
  /** Records of one date: by id, mirrored when listed backwards; by id either way; in another order each time. */
  ties: 'mirrored' | 'alike' | 'shuffled';
  /** Which of two equal local times is meant when clocks are set back. */
  ambiguous: 'first' | 'second';
  /** Whether the list is in the order of its date at all. */
  ordered: boolean;
  /** Whether some reviews are hidden, and taken off the pages after these were cut. */
  hides?: boolean;
  /** The status of a page behind the last one, or the last page again. Default: 200 with an empty list. */
  behind?: 200 | 404 | 422 | 500 | 'the last again' | undefined;
  /** A review that the service fails on: a page that would show it is refused with this status. */
  poison?: { id: number; status: 404 | 422 } | undefined;
};

/** A service that does all as the client hopes. */
export const usualMood: Mood = {
  zone: 'Asia/Seoul',
  lastPage: 'real',
  pageSize: 100,
  end: 'second',
  ties: 'mirrored',
  ambiguous: 'first',
  ordered: true,
};

/** Whether a service that hides reviews hides this one. */
export const isHidden = (review: Pick<ModelReview, 'id'>) => review.id % 7 === 3;

export type ModelLimits = { pages: number; pageSize: number; days: number };

/**
 * A service's list in memory, for properties over thousands of runs: what it would show of `reviews()` in this mood.
 * It refuses what the spec forbids, and tells `seen` of each request.
 */
export function listModel(
  reviews: () => readonly ModelReview[],
  mood: Mood,
  limits: ModelLimits,
  random: () => number,
): ReadDeps['reviews'] {
  return {
    async page(params, page) {
      const { start_datetime = '', end_datetime = '', limit = 100 } = params;
      const [start, end] = [instantOf(start_datetime, mood, 'start'), instantOf(end_datetime, mood, 'end')];
      if (page > limits.pages) throw new Error(`page ${page} is over ${limits.pages}`);
      if (limit > limits.pageSize) throw new Error(`limit ${limit} is over ${limits.pageSize}`);
      if (end - start > limits.days * 86_400_000) throw new Error('the period is too long');
      const all = remembered(reviews(), params, { start, end }, mood, random);
      const size = Math.min(limit, mood.pageSize);
      const step = mood.leavesOut ? limit : size;
      const last = Math.max(1, Math.ceil(all.length / step));
      if (page > last && typeof mood.behind === 'number') refuse(mood.behind);
      const at = mood.behind === 'the last again' ? Math.min(page, last) : page;
      const cut = all.slice((at - 1) * step, (at - 1) * step + size);
      if (cut.some((review) => review.id === mood.poison?.id)) refuse(mood.poison?.status);
      const shown = cut.filter((review) => !mood.hides || !isHidden(review));
      const items = shown.map(({ id, score, productId, createdMs, updatedMs }) => {
        return { id, created_at: isoOf(createdMs), updated_at: isoOf(updatedMs), score, product_id: productId };
      });
      const lastPage = {
        real: last,
        capped: Math.min(last, limits.pages),
        absent: undefined,
        'not on the last': page < last ? last : undefined,
        'only on page 1': page === 1 ? last : undefined,
        fixed: limits.pages,
        'for the limit': Math.max(1, Math.ceil(all.length / limit)),
        cached: Math.max(1, Math.floor(last / 2)),
      }[mood.lastPage];
      return { rawBody: Buffer.from(JSON.stringify(items)), items, lastPage, requestedAt: new Date('2030-01-01') };
    },
  };
}

function refuse(status: number | undefined): void {
  const request = { method: 'GET', path: '/v1/reviews', status };
  if (status === 404) throw new NotFoundError(request);
  if (status === 422) throw new RefusedError(request);
  if (status === 500) throw new UnavailableError({ ...request, attempts: 1 }, true, false);
}

const lists = new WeakMap<readonly ModelReview[], Map<string, ModelReview[]>>();

/** A long list is sorted once, for all its pages. */
function remembered(...[reviews, params, period, mood, random]: Parameters<typeof listed>): ModelReview[] {
  if (reviews.length < 100 || mood.ties === 'shuffled') return listed(reviews, params, period, mood, random);
  const known = lists.get(reviews) ?? new Map<string, ModelReview[]>();
  lists.set(reviews, known);
  const key = JSON.stringify([{ ...params, limit: 0 }, period, mood]);
  const list = known.get(key) ?? listed(reviews, params, period, mood, random);
  known.set(key, list);
  return list;
}

function listed(
  reviews: readonly ModelReview[],
  params: ReviewListAllParams,
  { start, end }: { start: number; end: number },
  mood: Mood,
  random: () => number,
): ModelReview[] {
  const dateOf = (review: ModelReview) => (params.date_updated_at ? review.updatedMs : review.createdMs);
  const last = { second: end + 999, millisecond: end, excluded: end - 1 }[mood.end];
  const matching = reviews.filter((review) => {
    const score = params.score === undefined || (params.score === 0 ? null : params.score) === review.score;
    const product = params.product_id === undefined || params.product_id === review.productId;
    return dateOf(review) >= start && dateOf(review) <= last && score && product;
  });
  const direction = params.date_order_desc ? -1 : 1;
  const draw = new Map(mood.ties === 'shuffled' ? matching.map((review) => [review, random()]) : []);
  const tie = (a: ModelReview, b: ModelReview) => {
    if (mood.ties === 'shuffled') return (draw.get(a) ?? 0) - (draw.get(b) ?? 0);
    return (a.id - b.id) * (mood.ties === 'mirrored' ? direction : 1);
  };
  if (!mood.ordered) return matching.sort((a, b) => ((a.id * 7919) % 1009) - ((b.id * 7919) % 1009) || a.id - b.id);
  return matching.sort((a, b) => (dateOf(a) - dateOf(b)) * direction || tie(a, b));
}

const isoTexts = new Map<number, string>();

/** Remembered: to print the same dates again and again takes a sixth of the time of the properties. */
function isoOf(ms: number): string {
  const text = isoTexts.get(ms) ?? new Date(ms).toISOString();
  isoTexts.set(ms, text);
  return text;
}

const instants = new Map<string, number>();

/** Milliseconds since 1970 of a local time. Remembered, since finding out takes longer than all the rest. */
function instantOf(local: string, mood: Mood, what: string): number {
  const key = `${local} ${mood.zone} ${mood.ambiguous}`;
  const known = instants.get(key);
  if (known !== undefined) return known;
  const parsed = DateTime.fromFormat(local, 'yyyy-MM-dd HH:mm:ss', { zone: mood.zone });
  if (!parsed.isValid) throw new Error(`${what} ${local} is no time`);
  const possible = parsed.getPossibleOffsets().map((one) => one.toMillis());
  const found = mood.ambiguous === 'first' ? Math.min(...possible) : Math.max(...possible);
  instants.set(key, found);
  return found;
}
