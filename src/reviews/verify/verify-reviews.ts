import pLimit from 'p-limit';
import { formatCount } from '../../base/counts.ts';
import type { DayRange } from '../../base/time/day-range.ts';
import { dayOf, isWithin, type Second, type Span, secondOf } from '../../base/time/span.ts';
import { warehouseNow } from '../../warehouse/index.ts';
import { type Absent, heldIn, newestBut } from '../../warehouse/reviews/absent-reviews.ts';
import { compareOne, comparePage, type Difference } from '../../warehouse/reviews/compare-reviews.ts';
import { landPage } from '../../warehouse/reviews/land-reviews.ts';
import { spanOf } from '../plan/plan-backfill-reviews.ts';
import { allReviews, doubtEmpty } from '../plan/review-bounds.ts';
import { pageOfOne } from '../read/check-page.ts';
import { readSpans } from '../read/read-window.ts';
import type { ReviewDeps } from '../review-deps.ts';
import { planWindows, type Window } from '../windows.ts';
import { confirmDeleted } from './confirm-deleted.ts';

export type VerifyReviewsDeps = ReviewDeps & {
  onProgress(windows: number, of: number): void;
  /** Reviews in no list that are asked about by id, so that memory and requests stay bounded. Default: 20,000. */
  askedAtMost?: number;
};

/** `extra`: in the warehouse, and the service says it is gone. `day`: of its creation, in the service's zone. */
export type Found = { id: number | null; kind: Difference['kind'] | 'extra'; fields: string[]; day: string | null };

const none = { service: 0, warehouse: 0, missing: 0, stale: 0, extra: 0, differing: 0, unrepairable: 0, unlisted: 0 };

/**
 * Numbers of reviews. `service`, `warehouse`: of the range on each side. `differing`: all differences. `unrepairable`:
 * the differences that `repair` leaves, because the warehouse cannot hold the review. `unlisted`: absent from the lists,
 * but known to the service by their id: hidden, perhaps. No difference.
 */
export type Verification = typeof none & {
  /** Differences by day, at most `listedAtMost`. */
  differences: Found[];
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
 * 3. What no list showed, although its date was listed completely, is asked about by its id.
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
  const windows = span ? planWindows('created', span) : [];
  const report: Verification = { ...none, differences: [], repaired: false, problems: [] };
  const absent: Absent[] = [];
  const shown: number[] = [];
  let missed = 0;
  let done = 0;

  const verifyWindow = async ({ span: window }: Window): Promise<void> => {
    const listed = await listedIn(deps, window, how);
    const held = await heldIn(warehouse.db, window);
    for (const one of listed.reviews.values()) {
      if (one.second !== undefined && !isWithin(one.second, window)) continue;
      addTo(report, one, deps.timeZone);
      report.service += 1;
    }
    const isProven = (createdAt: Date) => listed.proven.some((span) => isWithin(secondOf(createdAt), span));
    const suspected = held.filter(({ id, createdAt }) => !listed.reviews.has(String(id)) && isProven(createdAt));
    report.warehouse += held.length;
    report.problems.push(...listed.problems);
    missed += suspected.length;
    absent.push(...suspected.slice(0, askedAtMost - absent.length));
    for (const key of listed.reviews.keys()) if (isId(key) && shown.length < 3) shown.push(Number(key));
    done += 1;
    deps.onProgress(done, windows.length);
  };
  await pLimit(comparedAtATime).map(windows, verifyWindow);

  const ids = absent.map(({ id }) => id);
  const { gone, unlisted, problems } = await confirmDeleted(deps, absent, {
    mark: repair,
    suspected: missed,
    others: shown.length > 0 ? shown : await newestBut(warehouse.db, ids),
    async show({ createdAt }, one) {
      const compare = () => compareOne(warehouse, one.rawBody, how.since);
      const land = () => landPage(warehouse, pageOfOne(one, deps.plausible), how.since);
      for (const found of await compareAndRepair(repair, compare, land))
        addTo(report, { ...found, second: secondOf(createdAt) }, deps.timeZone);
    },
  });
  for (const { id, createdAt } of gone) {
    const difference = { id, kind: 'extra' as const, fields: [] };
    addTo(report, { difference, second: secondOf(createdAt) }, deps.timeZone);
  }
  report.problems.push(...problems);
  if (missed > absent.length) {
    report.problems.push(
      `${formatCount(missed)} reviews are in no list, and only ${formatCount(absent.length)} were asked about: ` +
        'verify a shorter range',
    );
  }
  report.differences.sort((a, b) => ((a.day ?? '') < (b.day ?? '') ? -1 : 1));
  return { ...report, unlisted, repaired: repair && report.problems.length === 0 && report.unrepairable === 0 };
}

/** A review: its date, how it differs, and whether it differs after the repair. */
type Compared = { second: Second | undefined; difference?: Omit<Found, 'day'>; isStuck?: boolean };

const countedAs = {
  missing: 'missing',
  refused: 'missing',
  stale: 'stale',
  reverted: 'stale',
  extra: 'extra',
} as const;

function addTo(report: Verification, { second, difference, isStuck }: Compared, zone: string): void {
  if (!difference) return;
  report[countedAs[difference.kind]] += 1;
  report.differing += 1;
  if (difference.kind === 'refused' || isStuck) report.unrepairable += 1;
  const day = second === undefined ? null : dayOf(second, zone);
  if (report.differences.length < listedAtMost) report.differences.push({ ...difference, day });
}

/** What differs, and whether it still does after the repair. */
async function compareAndRepair(
  repair: boolean,
  compare: () => Promise<Difference[]>,
  land: () => Promise<unknown>,
): Promise<{ difference: Difference; isStuck: boolean }[]> {
  const differences = await compare();
  if (!repair || differences.length === 0) return differences.map((difference) => ({ difference, isStuck: false }));
  await land();
  const stuck = new Set((await compare()).map(({ id }) => id));
  return differences.map((difference) => ({ difference, isStuck: stuck.has(difference.id) }));
}

/** Whether the key of a record on a page is its id. A record without a usable id goes by its text. */
const isId = (key: string) => /^[1-9]\d*$/.test(key);

/**
 * What the service's lists show of a window, and how that differs from the rows of the same ids.
 *
 * @returns `reviews`: by id, or by their text. `proven`: the spans of the window that were listed completely.
 */
async function listedIn(deps: ReviewDeps, window: Span, { repair, since }: { repair: boolean; since: Date }) {
  const { warehouse } = deps;
  const reviews = new Map<string, Compared>();
  const proven: Span[] = [];
  const gaps = await readSpans(deps, 'created', [window], {
    async land(page) {
      const compare = () => comparePage(warehouse, page, since);
      const differing = await compareAndRepair(repair, compare, () => landPage(warehouse, page, since));
      const found = new Map(differing.map((one) => [one.difference.id, one]));
      for (const [index, key] of page.ids.entries()) {
        const one = found.get(isId(key) ? Number(key) : null);
        // What an earlier reading has repaired differs no more, and is a difference all the same.
        reviews.set(key, { ...reviews.get(key), isStuck: false, ...one, second: page.seconds[index] });
      }
    },
    async enter({ span }) {
      proven.push(span);
    },
    doubt: (empty) => doubtEmpty(deps, empty),
  });
  return { reviews, proven, problems: gaps.map((gap) => gap.reason) };
}
