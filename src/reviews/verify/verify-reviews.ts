import pLimit from 'p-limit';
import { formatCount } from '../../base/counts.ts';
import type { DayRange } from '../../base/time/day-range.ts';
import { dayOf, type Second, type Span, secondOf } from '../../base/time/span.ts';
import { warehouseNow } from '../../warehouse/index.ts';
import { type Absent, heldIn, newestBut } from '../../warehouse/reviews/absent-reviews.ts';
import { compareOne, comparePage, type Difference } from '../../warehouse/reviews/compare-reviews.ts';
import { landPage } from '../../warehouse/reviews/land-reviews.ts';
import { spanOf } from '../plan/plan-backfill-reviews.ts';
import { allReviews } from '../plan/review-bounds.ts';
import { pageOfOne } from '../read/check-page.ts';
import { readSpans } from '../read/read-window.ts';
import { planWindows } from '../read/window.ts';
import type { ReviewDeps } from '../review-deps.ts';
import { confirmDeleted } from './confirm-deleted.ts';

export type VerifyReviewsDeps = ReviewDeps & {
  onProgress(windows: number, of: number): void;
  /** Reviews in no list that are asked about by id, so that memory and requests stay bounded. Default: 20,000. */
  askedAtMost?: number;
};

/** `extra`: in the warehouse, and the service says it is gone. `day`: of its creation, in the service's zone. */
export type Found = { id: number | null; kind: Difference['kind'] | 'extra'; fields: string[]; day: string | null };

const none = { service: 0, warehouse: 0, missing: 0, stale: 0, extra: 0, differing: 0, unrepairable: 0 };

/**
 * Numbers of reviews. `service`, `warehouse`: of the range on each side. `differing`: all differences. `unrepairable`:
 * the differences that `repair` leaves, because the warehouse cannot hold the review.
 */
type Tally = Record<keyof typeof none, number>;

export type Verification = Tally & {
  /** The first differences, at most `listedAtMost`. */
  differences: Found[];
  /** Absent from the lists, but known to the service by their id: hidden, perhaps. No difference. */
  unlisted: number;
  repaired: boolean;
  /** Why the verification cannot be relied on. */
  problems: string[];
};

const comparedAtATime = 4;
/** Differences that a verification lists one by one. A warehouse that lacks everything has a million. */
const listedAtMost = 1000;

/**
 * Compares service and warehouse review by review over the created axis.
 *
 * 1. `listedIn`: what the service's lists show of a window, page by page beside what the warehouse holds of the same ids.
 * 2. `heldIn`: what the warehouse holds of the window.
 * 3. `compareWindow`: what differs, and what no list showed.
 * 4. What no list showed is asked about by its id.
 *
 * @param options.repair brings in what is missing or stale, and marks what is gone.
 * @throws UsageError if the range is invalid.
 */
export async function verifyReviews(
  deps: VerifyReviewsDeps,
  range: DayRange,
  { repair }: { repair: boolean },
): Promise<Verification> {
  const { warehouse, askedAtMost = 20_000 } = deps;
  const span = spanOf(range, deps, await allReviews(deps));
  const how = { repair, since: await warehouseNow(warehouse.db) };
  const windows = span ? planWindows(span, [], 1) : [];
  const limit = pLimit(comparedAtATime);
  let done = 0;
  const verifyWindow = async (window: Span): Promise<Compared> => {
    const listed = await listedIn(deps, window, how);
    const compared = compareWindow(window, listed, await heldIn(warehouse.db, window));
    done += 1;
    deps.onProgress(done, windows.length);
    return { ...compared, found: compared.found.slice(0, listedAtMost), absent: compared.absent.slice(0, askedAtMost) };
  };
  const compared = await Promise.all(windows.map((window) => limit(() => verifyWindow(window))));

  const absent = compared.flatMap((one) => one.absent).slice(0, askedAtMost);
  const missed = compared.reduce((sum, one) => sum + one.missed, 0);
  const shown = compared.flatMap((one) => one.shown).slice(0, 3);
  const ids = absent.map(({ id }) => id);
  const known: Listed[] = [];
  const { gone, unlisted, problems } = await confirmDeleted(deps, absent, {
    mark: repair,
    suspected: missed,
    others: shown.length > 0 ? shown : await newestBut(warehouse.db, ids),
    async show({ createdAt }, one) {
      const differences = await compareOne(warehouse, one.rawBody, how.since);
      if (differences.length === 0) return;
      if (repair) await landPage(warehouse, pageOfOne(one, deps.plausible), how.since);
      const left = repair ? await compareOne(warehouse, one.rawBody, how.since) : [];
      for (const difference of differences)
        known.push({ second: secondOf(createdAt), difference, isStuck: left.length > 0 });
    },
  });
  const isGone = new Set(gone);
  const extra = absent
    .filter(({ id }) => isGone.has(id))
    .map(({ id, createdAt }): Listed => {
      return { second: secondOf(createdAt), difference: { id, kind: 'extra', fields: [] }, isStuck: false };
    });
  const asked = tallyOf([...known, ...extra]);
  const tally = { ...none };
  for (const one of [...compared.map((window) => window.tally), asked])
    for (const name of Object.keys(none) as (keyof Tally)[]) tally[name] += one[name];
  const found = [...compared.flatMap((one) => one.found), ...known, ...extra].slice(0, listedAtMost);
  const all = [...compared.flatMap((one) => one.problems), ...problems];
  if (missed > absent.length) {
    const [many, some] = [missed, absent.length].map(formatCount);
    all.push(`${many} reviews are in no list, and only ${some} were asked about: verify a shorter range`);
  }
  return {
    ...tally,
    differences: found.flatMap(({ second, difference }) => {
      const day = second === undefined ? null : dayOf(second, deps.timeZone);
      return difference ? [{ ...difference, day }] : [];
    }),
    unlisted,
    repaired: repair && all.length === 0 && tally.unrepairable === 0,
    problems: all,
  };
}

/** A review that the service shows: its date, how it differs, and whether it differs after the repair. */
type Listed = { second: Second | undefined; difference?: Omit<Found, 'day'>; isStuck: boolean };

/** `reviews`: by id, or by their text. `proven`: the spans of the window that were listed completely. */
type ListedWindow = { reviews: Map<string, Listed>; proven: Span[]; problems: string[] };

/** What the service's lists show of a window, and how that differs from the rows of the same ids. */
async function listedIn(
  deps: ReviewDeps,
  window: Span,
  { repair, since }: { repair: boolean; since: Date },
): Promise<ListedWindow> {
  const { warehouse } = deps;
  const reviews = new Map<string, Listed>();
  const proven: Span[] = [];
  const gaps = await readSpans(deps, 'created', [window], {
    async land(page) {
      const differences = await comparePage(warehouse, page, since);
      const isRepaired = repair && differences.length > 0;
      if (isRepaired) await landPage(warehouse, page, since);
      const left = isRepaired ? await comparePage(warehouse, page, since) : [];
      const stuck = new Set(left.map((one) => one.id));
      const found = new Map(differences.map((one) => [String(one.id), one]));
      for (const [index, key] of page.ids.entries()) {
        // A record without a usable id goes by its text.
        const isRecord = /^[1-9]\d*$/.test(key);
        const difference = isRecord ? found.get(key) : ({ id: null, kind: 'refused', fields: [] } as const);
        const known = reviews.get(key);
        reviews.set(key, {
          second: page.seconds[index],
          isStuck: stuck.has(isRecord ? Number(key) : null),
          ...(difference ? { difference: { ...difference, fields: [...difference.fields] } } : known),
        });
      }
    },
    async enter({ span }) {
      proven.push(span);
    },
  });
  return { reviews, proven, problems: gaps.map((gap) => gap.reason) };
}

/** `shown`: ids of a few reviews that the lists show. `missed`: how many reviews no list showed. */
type Compared = {
  tally: Tally;
  found: Listed[];
  shown: number[];
  missed: number;
  absent: Absent[];
  problems: string[];
};

/** What differs in a window, and what of the warehouse no list showed, although its date was listed completely. */
function compareWindow(window: Span, listed: ListedWindow, held: readonly Absent[]): Compared {
  const isWithin = (second: Second, { start, end }: Span) => second >= start && second < end;
  const reviews = [...listed.reviews.values()].filter(({ second }) => second === undefined || isWithin(second, window));
  const absent = held.filter(({ id, createdAt }) => {
    const second = secondOf(createdAt);
    return !listed.reviews.has(String(id)) && listed.proven.some((span) => isWithin(second, span));
  });
  const tally = { ...tallyOf(reviews), service: reviews.length, warehouse: held.length };
  const shown = [...listed.reviews.keys()].map(Number).filter(Number.isSafeInteger).slice(0, 3);
  const found = reviews.filter(({ difference }) => difference);
  return { tally, found, shown, missed: absent.length, absent, problems: listed.problems };
}

const countedAs = {
  missing: 'missing',
  refused: 'missing',
  stale: 'stale',
  reverted: 'stale',
  extra: 'extra',
} as const;

function tallyOf(reviews: readonly Listed[]): Tally {
  const tally = { ...none };
  for (const { difference, isStuck } of reviews) {
    if (!difference) continue;
    tally[countedAs[difference.kind]] += 1;
    tally.differing += 1;
    if (difference.kind === 'refused' || isStuck) tally.unrepairable += 1;
  }
  return tally;
}
