import pLimit from 'p-limit';
import { IncompleteError } from '../base/errors.ts';
import type { DayRange } from '../base/time/day-range.ts';
import { dayOf, type Second, type Span } from '../base/time/span.ts';
import type { ReviewApi } from '../review-api/index.ts';
import { type Absent, absentIn } from '../warehouse/absent-reviews.ts';
import { comparePage, countByMonth, type Difference } from '../warehouse/compare-reviews.ts';
import type { Warehouse } from '../warehouse/index.ts';
import { warehouseNow } from '../warehouse/links.ts';
import { landPage } from '../warehouse/reviews.ts';
import { spansOf } from './backfill-reviews.ts';
import { confirmDeleted } from './confirm-deleted.ts';
import { type ReadDeps, readWindow } from './read/read-window.ts';
import { planWindows } from './read/window.ts';
import { allSpans, captureOverview, findFirst } from './review-bounds.ts';

export type VerifyDeps = ReadDeps & {
  reviews: Pick<ReviewApi['reviews'], 'page' | 'getRaw' | 'overview'>;
  warehouse: Warehouse;
  now: () => Date;
  /** The dates that a review may have, in seconds. */
  plausible: Span;
  onProgress(windows: number, of: number): void;
  /** Reviews in no list that are asked about by id, so that memory and requests stay bounded. Default 20,000; another is for tests. */
  askedAtMost?: number;
};

type MonthRow = { month: string; service: number; warehouse: number; missing: number; stale: number; extra: number };

/** `extra`: in the warehouse, and the service says it is gone. Months are those of created_at in the service's zone. */
export type Found = { id: number | null; kind: Difference['kind'] | 'extra'; fields: string[]; month: string };

export type Verification = {
  months: MonthRow[];
  /** All differences. */
  differing: number;
  /** The first of them, at most `listedAtMost`. */
  differences: Found[];
  /** Absent from the lists, but known to the service by their id: hidden, perhaps. No difference. */
  unlisted: number;
  /** Differences that `repair` leaves: the warehouse cannot hold the review, or holds a newer version. */
  unrepairable: number;
  repaired: boolean;
  /** Why the verification is not to be relied upon. */
  problems: string[];
};

const windowsAtATime = 4;
/** Differences that a verification lists one by one. */
const listedAtMost = 1000;

/**
 * Compares service and warehouse review by review over the created axis.
 *
 * @param options.repair brings in what is missing or stale, and marks what is gone.
 * @throws UsageError for a range that is none.
 */
export async function verifyReviews(
  deps: VerifyDeps,
  range: DayRange,
  options: { repair: boolean },
): Promise<Verification> {
  const { warehouse, timeZone } = deps;
  const captured = await captureOverview({ ...deps, db: warehouse.db });
  const overview = range.from === undefined ? await findFirst(deps, captured) : captured;
  const isOpen = range.from === undefined && range.to === undefined;
  const spans = isOpen
    ? await allSpans(warehouse.db, overview, { plausible: deps.plausible })
    : spansOf(range, deps, overview);
  const windows = spans.flatMap((span) => planWindows(span));
  const since = await warehouseNow(warehouse.db);
  const work: Work = {
    deps,
    since,
    repair: options.repair,
    service: new Map(),
    kinds: new Map(),
    differing: 0,
    differences: [],
    missed: 0,
    absent: [],
    problems: [],
  };
  let done = 0;
  const limit = pLimit(windowsAtATime);
  await Promise.all(
    windows.map((window) =>
      limit(async () => {
        await verifyWindow(work, window);
        done += 1;
        deps.onProgress(done, windows.length);
      }),
    ),
  );
  const unlisted = await settleAbsent(work);
  const unrepairable = [...work.kinds.values()].reduce((sum, kinds) => sum + kinds.refused + kinds.reverted, 0);
  return {
    months: monthsOf(work, await countByMonth(warehouse.db, spans, timeZone)),
    differing: work.differing,
    differences: work.differences,
    unlisted,
    unrepairable,
    repaired: options.repair && work.problems.length === 0 && unrepairable === 0,
    problems: work.problems,
  };
}

type Work = {
  deps: VerifyDeps;
  /** When the verification began, by the database's clock. */
  since: Date;
  repair: boolean;
  /** Reviews of the service by month. */
  service: Map<string, number>;
  /** Differences by month: a warehouse that lacks everything has a million, so most are only counted. */
  kinds: Map<string, Record<Found['kind'], number>>;
  differing: number;
  differences: Found[];
  /** Reviews of the warehouse that no list showed: how many, and those that are asked about. */
  missed: number;
  absent: Absent[];
  problems: string[];
};

async function verifyWindow(work: Work, span: Span): Promise<void> {
  const { deps } = work;
  const { warehouse, askedAtMost = 20_000 } = deps;
  const seen = new Map<string, Second | undefined>();
  const found = new Map<string, Difference>();
  const { holes } = await readWindow(
    deps,
    { axis: 'created', span },
    {
      async land(page) {
        for (const [index, id] of page.ids.entries()) seen.set(id, page.seconds[index]);
        const differences = await comparePage(warehouse, page, work.since);
        for (const one of differences) found.set(String(one.id), one);
        if (work.repair && differences.length > 0) await landPage(warehouse, page);
        return true;
      },
      async enter(proven) {
        for (const one of proven.spans) {
          const absent = await absentIn(warehouse.db, one, proven.ids);
          work.missed += absent.length;
          work.absent.push(...absent.slice(0, askedAtMost - work.absent.length));
        }
        return undefined;
      },
    },
  );
  work.problems.push(...holes.map((hole) => hole.reason));
  const isWithin = (second: Second | undefined) => second === undefined || (second >= span.start && second < span.end);
  for (const second of seen.values()) {
    if (isWithin(second)) add(work.service, monthOf(work, second));
  }
  for (const [id, one] of found) {
    const second = seen.get(id);
    if (isWithin(second)) addDifference(work, { ...one, month: monthOf(work, second) });
  }
}

/** Asks about what the lists did not show. Gives how many the service knows nevertheless. */
async function settleAbsent(work: Work): Promise<number> {
  const { deps, absent, missed } = work;
  const { db } = deps.warehouse;
  const shown = [...work.service.values()].reduce((sum, n) => sum + n, 0);
  const extra = (review: Absent) => {
    const second = Math.floor(review.createdAt.getTime() / 1000);
    addDifference(work, { id: review.id, kind: 'extra', fields: [], month: monthOf(work, second) });
  };
  try {
    const confirmed = await confirmDeleted({ ...deps, db }, { absent, missed, shown }, { mark: work.repair });
    const gone = new Set(confirmed.gone);
    if (confirmed.unknown.length > 0) {
      work.problems.push(`${confirmed.unknown.length} reviews could not be asked about: ${confirmed.reason ?? ''}`);
    }
    if (missed > absent.length) {
      const [all, asked] = [missed, absent.length].map((n) => n.toLocaleString('en'));
      work.problems.push(`${all} reviews are in no list, and only ${asked} were asked about: verify a shorter range`);
    }
    for (const review of absent) if (gone.has(review.id)) extra(review);
    return confirmed.unlisted.length;
  } catch (error) {
    if (!(error instanceof IncompleteError)) throw error;
    work.problems.push(error.message);
    for (const review of absent) extra(review);
    return 0;
  }
}

const monthOf = (work: Work, second: Second | undefined) =>
  second === undefined ? 'no date' : dayOf(second, work.deps.timeZone).slice(0, 7);

function monthsOf(work: Work, warehouse: ReadonlyMap<string, number>): MonthRow[] {
  const months = new Set([...work.service.keys(), ...warehouse.keys(), ...work.kinds.keys()]);
  return [...months].sort().map((month) => {
    const kinds = work.kinds.get(month) ?? noKinds();
    return {
      month,
      service: work.service.get(month) ?? 0,
      warehouse: warehouse.get(month) ?? 0,
      missing: kinds.missing + kinds.refused,
      stale: kinds.stale + kinds.reverted,
      extra: kinds.extra,
    };
  });
}

function add(counts: Map<string, number>, key: string): void {
  counts.set(key, (counts.get(key) ?? 0) + 1);
}

const noKinds = (): Record<Found['kind'], number> => ({ missing: 0, stale: 0, reverted: 0, refused: 0, extra: 0 });

function addDifference(work: Work, one: Found): void {
  work.differing += 1;
  if (work.differences.length < listedAtMost) work.differences.push(one);
  const kinds = work.kinds.get(one.month) ?? noKinds();
  kinds[one.kind] += 1;
  work.kinds.set(one.month, kinds);
}
