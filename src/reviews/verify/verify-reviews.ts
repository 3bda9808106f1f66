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
import { pageOfOne } from '../read/list-page.ts';
import { readSpans } from '../read/read-window.ts';
import { confirmDeleted } from '../refresh/refresh-review.ts';
import type { ReviewDeps } from '../review-deps.ts';
import { planWindows } from '../windows.ts';

export type VerifyReviewsDeps = ReviewDeps & {
  onProgress(windows: number, of: number): void;
  /** Maximum of unlisted reviews to ask about by id. It bounds memory and requests. Default: 20,000. */
  askedAtMost?: number;
};

/** `extra`: in the warehouse, but gone at the service. `day`: the day of its creation in the service's zone. */
export type Found = { id: number | null; kind: Difference['kind'] | 'extra'; fields: string[]; day: string | null };

const none = { service: 0, warehouse: 0, missing: 0, stale: 0, extra: 0, differing: 0, unrepairable: 0, unlisted: 0 };

/**
 * Numbers of reviews. `service`, `warehouse`: reviews in the range on each side. `differing`: all differences.
 * `unrepairable`: the differences that `repair` leaves, because the warehouse cannot hold the review. `unlisted`:
 * absent from the lists, but shown by id (perhaps hidden). They are no differences.
 */
export type Verification = typeof none & {
  /** Differences by day, at most `listedAtMost`. */
  differences: Found[];
  repaired: boolean;
  /** Why the verification cannot be relied on. */
  problems: string[];
};

/** Windows that are compared at a time. */
const comparedAtATime = 4;
/** Differences that a verification lists one by one. A warehouse that lacks everything has a million. */
const listedAtMost = 1000;

/**
 * Compares service and warehouse review by review over the created axis.
 *
 * 1. `listedIn`: compares what the service's lists show of a window, page by page, with the warehouse's rows of the
 *    same ids.
 * 2. `heldIn`: finds the reviews of the window in the warehouse.
 * 3. If no list showed a review, although its date was listed completely, ask about it by its id.
 *
 * @param options.repair brings in missing and stale reviews, and marks reviews that are gone.
 * @throws UsageError if the range is invalid.
 */
export async function verifyReviews(
  deps: VerifyReviewsDeps,
  range: DayRange,
  { repair }: { repair: boolean },
): Promise<Verification> {
  const { warehouse, askedAtMost = 20_000, timeZone } = deps;
  const span = spanOf(range, deps, await allReviews(deps));
  const how = { repair, since: await warehouseNow(warehouse.db) };
  const windows = span ? planWindows('created', span, [], 1) : [];
  const report: Verification = { ...none, differences: [], repaired: false, problems: [] };
  const absent: Absent[] = [];
  const shown: number[] = [];
  let missed = 0;
  let done = 0;

  function add(second: Second | undefined, difference: Omit<Found, 'day'>, isStuck = false): void {
    report[countedAs[difference.kind]] += 1;
    report.differing += 1;
    if (difference.kind === 'refused' || isStuck) report.unrepairable += 1;
    const day = second === undefined ? null : dayOf(second, timeZone);
    if (report.differences.length < listedAtMost) report.differences.push({ ...difference, day });
  }

  await pLimit(comparedAtATime).map(windows, async ({ span: window }) => {
    const { reviews, proven, gaps } = await listedIn(deps, window, how);
    const held = await heldIn(warehouse.db, window);
    for (const { second, found } of reviews.values()) if (found) add(second, found.difference, found.isStuck);
    const isProven = (createdAt: Date) => proven.some((one) => isWithin(secondOf(createdAt), one));
    const suspected = held.filter(({ id, createdAt }) => !reviews.has(String(id)) && isProven(createdAt));
    report.service += reviews.size;
    report.warehouse += held.length;
    report.problems.push(...gaps.map(({ reason }) => reason));
    missed += suspected.length;
    absent.push(...suspected.slice(0, askedAtMost - absent.length));
    for (const key of reviews.keys()) if (isId(key) && shown.length < 3) shown.push(Number(key));
    done += 1;
    deps.onProgress(done, windows.length);
  });

  const ids = absent.map(({ id }) => id);
  const { gone, unlisted, problems } = await confirmDeleted(deps, absent, {
    mark: repair,
    suspected: missed,
    others: shown.length > 0 ? shown : await newestBut(warehouse.db, ids),
    async show({ createdAt }, one) {
      const compare = () => compareOne(warehouse, one.rawBody, how.since);
      const land = () => landPage(warehouse, pageOfOne(one, deps.plausible), how.since);
      for (const { difference, isStuck } of await compareAndRepair(repair, compare, land))
        add(secondOf(createdAt), difference, isStuck);
    },
  });
  for (const { id, createdAt } of gone) add(secondOf(createdAt), { id, kind: 'extra', fields: [] });
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

const countedAs = {
  missing: 'missing',
  refused: 'missing',
  stale: 'stale',
  reverted: 'stale',
  extra: 'extra',
} as const;

/** How a review differs. `isStuck`: it still differs after the repair. */
type Compared = { difference: Difference; isStuck: boolean };

async function compareAndRepair(
  repair: boolean,
  compare: () => Promise<Difference[]>,
  land: () => Promise<unknown>,
): Promise<Compared[]> {
  const differences = await compare();
  if (!repair || differences.length === 0) return differences.map((difference) => ({ difference, isStuck: false }));
  await land();
  const stuck = new Set((await compare()).map(({ id }) => id));
  return differences.map((difference) => ({ difference, isStuck: stuck.has(difference.id) }));
}

/** Whether the key of a record on a page is its id. Without a usable id, the key is the record's text. */
const isId = (key: string) => /^[1-9]\d*$/.test(key);

/**
 * The reviews that the service's lists show of a window, and how they differ from the rows of the same ids.
 *
 * @returns `reviews`: by key, an id or a text. `proven`: the spans of the window that were listed completely.
 */
async function listedIn(deps: ReviewDeps, window: Span, { repair, since }: { repair: boolean; since: Date }) {
  const { warehouse } = deps;
  const reviews = new Map<string, { second: Second | undefined; found?: Compared | undefined }>();
  const proven: Span[] = [];
  const gaps = await readSpans(deps, 'created', [window], {
    async land(page) {
      const compare = () => comparePage(warehouse, page, since);
      const compared = await compareAndRepair(repair, compare, () => landPage(warehouse, page, since));
      const differing = new Map(compared.map((one) => [one.difference.id, one]));
      for (const [index, key] of page.ids.entries()) {
        const earlier = reviews.get(key)?.found;
        // If an earlier reading has repaired a review, it no longer differs, but still counts as a difference.
        const found = differing.get(isId(key) ? Number(key) : null) ?? (earlier && { ...earlier, isStuck: false });
        reviews.set(key, { second: page.seconds[index], found });
      }
    },
    async enter({ span }) {
      proven.push(span);
    },
    doubt: (...empty) => doubtEmpty(deps, ...empty),
  });
  return { reviews, proven, gaps };
}
