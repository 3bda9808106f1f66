import pLimit from 'p-limit';
import { formatCount } from '../../base/counts.ts';
import type { DayRange } from '../../base/time/day-range.ts';
import { dayOf, type Second, type Span, secondOf } from '../../base/time/span.ts';
import { warehouseNow } from '../../warehouse/index.ts';
import { type Absent, absentIn, countHeld, newestBut } from '../../warehouse/reviews/absent-reviews.ts';
import { compareOne, comparePage, type Difference } from '../../warehouse/reviews/compare-reviews.ts';
import { landPage } from '../../warehouse/reviews/land-reviews.ts';
import { spanOf } from '../plan/plan-backfill-reviews.ts';
import { allReviews } from '../plan/review-bounds.ts';
import { pageOfOne } from '../read/check-page.ts';
import { readSpans } from '../read/read-spans.ts';
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

export type Verification = {
  /** Reviews of the range on each side. */
  service: number;
  warehouse: number;
  missing: number;
  stale: number;
  extra: number;
  /** All differences. */
  differing: number;
  /** The first of them, at most `listedAtMost`. */
  differences: Found[];
  /** Absent from the lists, but known to the service by their id: hidden, perhaps. No difference. */
  unlisted: number;
  /** Differences that `repair` leaves: the warehouse cannot hold the review. */
  unrepairable: number;
  repaired: boolean;
  /** Why the verification is not to be relied upon. */
  problems: string[];
};

const windowsAtATime = 4;
/** Differences that a verification lists one by one. A warehouse that lacks everything has a million. */
const listedAtMost = 1000;

const countedAs = {
  missing: 'missing',
  refused: 'missing',
  stale: 'stale',
  reverted: 'stale',
  extra: 'extra',
} as const;

/**
 * Compares service and warehouse review by review over the created axis.
 *
 * @param options.repair brings in what is missing or stale, and marks what is gone.
 * @throws UsageError for a range that is none.
 */
export async function verifyReviews(
  deps: VerifyReviewsDeps,
  range: DayRange,
  { repair }: { repair: boolean },
): Promise<Verification> {
  const { warehouse, askedAtMost = 20_000 } = deps;
  const span = spanOf(range, deps, await allReviews(deps));
  const since = await warehouseNow(warehouse.db);
  const counts = {
    service: 0,
    warehouse: 0,
    missing: 0,
    stale: 0,
    extra: 0,
    differing: 0,
    unlisted: 0,
    unrepairable: 0,
  };
  const report: Verification = { ...counts, differences: [], repaired: false, problems: [] };
  /** Reviews of the warehouse that no list showed: how many, and those that are asked about. */
  let missed = 0;
  const absent: Absent[] = [];
  /** A few reviews that the lists have shown. */
  const listed: number[] = [];
  /** Ids that differ after the repair. */
  const stuck = new Set<number | null>();

  function note({ id, kind, fields }: Omit<Found, 'day'>, second: Second | undefined): void {
    report[countedAs[kind]] += 1;
    report.differing += 1;
    if (kind === 'refused' || stuck.has(id)) report.unrepairable += 1;
    const day = second === undefined ? null : dayOf(second, deps.timeZone);
    if (report.differences.length < listedAtMost) report.differences.push({ id, kind, fields, day });
  }

  async function verifyWindow(window: Span): Promise<void> {
    const seen = new Map<string, Second | undefined>();
    const found = new Map<string, Difference>();
    const gaps = await readSpans(
      deps,
      { axis: 'created', span: window },
      {
        async land(page) {
          for (const [index, id] of page.ids.entries()) seen.set(id, page.seconds[index]);
          const differences = await comparePage(warehouse, page, since);
          for (const one of differences) if (one.id !== null) found.set(String(one.id), one);
          // A record without a usable id goes by its text.
          for (const id of page.ids)
            if (!/^[1-9]\d*$/.test(id)) found.set(id, { id: null, kind: 'refused', fields: [] });
          if (repair && differences.length > 0) {
            await landPage(warehouse, page, since);
            for (const { id } of await comparePage(warehouse, page, since)) stuck.add(id);
          }
        },
        async enter(proven) {
          const lacking = await absentIn(warehouse.db, proven.span, proven.ids);
          missed += lacking.length;
          const ids = [...proven.ids].map(Number).filter(Number.isSafeInteger);
          listed.push(...ids.slice(0, 3 - listed.length));
          absent.push(...lacking.slice(0, askedAtMost - absent.length));
        },
      },
    );
    report.problems.push(...gaps.map((gap) => gap.reason));
    for (const [id, second] of seen) {
      if (second !== undefined && (second < window.start || second >= window.end)) continue;
      report.service += 1;
      const difference = found.get(id);
      if (difference) note(difference, second);
    }
  }

  const windows = span ? planWindows(span) : [];
  const limit = pLimit(windowsAtATime);
  let done = 0;
  const verified = windows.map((window) =>
    limit(async () => {
      await verifyWindow(window);
      done += 1;
      deps.onProgress(done, windows.length);
    }),
  );
  await Promise.all(verified);

  const { gone, unlisted, problems } = await confirmDeleted(deps, absent, {
    mark: repair,
    suspected: missed,
    others:
      listed.length > 0
        ? listed
        : await newestBut(
            warehouse.db,
            absent.map(({ id }) => id),
          ),
    async show({ createdAt }, shown) {
      const differences = await compareOne(warehouse, shown.rawBody, since);
      if (repair && differences.length > 0) {
        await landPage(warehouse, pageOfOne(shown, deps.plausible), since);
        for (const { id } of await compareOne(warehouse, shown.rawBody, since)) stuck.add(id);
      }
      for (const one of differences) note(one, secondOf(createdAt));
    },
  });
  const isGone = new Set(gone);
  for (const { id, createdAt } of absent) {
    if (isGone.has(id)) note({ id, kind: 'extra', fields: [] }, secondOf(createdAt));
  }
  report.problems.push(...problems);
  if (missed > absent.length) {
    const [all, asked] = [missed, absent.length].map(formatCount);
    report.problems.push(`${all} reviews are in no list, and only ${asked} were asked about: verify a shorter range`);
  }
  const held = span ? await countHeld(warehouse.db, span) : 0;
  const isRepaired = repair && report.problems.length === 0 && report.unrepairable === 0;
  return { ...report, unlisted, warehouse: held, repaired: isRepaired };
}
