import pLimit from 'p-limit';
import type { DayRange } from '../base/time/day-range.ts';
import { dayOf, type Second, type Span, secondOf } from '../base/time/span.ts';
import { warehouseNow } from '../warehouse/clock.ts';
import type { Warehouse } from '../warehouse/index.ts';
import { type Absent, absentIn } from '../warehouse/reviews/absent-reviews.ts';
import { compareOne, comparePage, countByMonth, type Difference } from '../warehouse/reviews/compare-reviews.ts';
import { landOne, landPage } from '../warehouse/reviews/land-reviews.ts';
import { type ConfirmDeps, confirmDeleted } from './confirm-deleted.ts';
import { spanOf } from './plan-backfill-reviews.ts';
import { type ReadDeps, readSpans } from './read/read-spans.ts';
import { planWindows } from './read/window.ts';
import { allReviews, type BoundsDeps } from './review-bounds.ts';

export type VerifyReviewsDeps = ReadDeps &
  BoundsDeps &
  ConfirmDeps & {
    warehouse: Warehouse;
    onProgress(windows: number, of: number): void;
    /**
     * Reviews in no list that are asked about by id, so that memory and requests stay bounded. Default 20,000; another
     * is for tests.
     */
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
  /** Differences that `repair` leaves: the warehouse cannot hold the review. */
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
  deps: VerifyReviewsDeps,
  range: DayRange,
  options: { repair: boolean },
): Promise<Verification> {
  const { warehouse, timeZone } = deps;
  const span = spanOf(range, deps, await allReviews(deps));
  const windows = span ? planWindows(span) : [];
  const since = await warehouseNow(warehouse.db);
  const work: Verifying = {
    deps,
    since,
    repair: options.repair,
    months: new Map(),
    differing: 0,
    unrepairable: 0,
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
  for (const [month, count] of await countByMonth(warehouse.db, span ? [span] : [], timeZone))
    rowOf(work, month).warehouse = count;
  const { differing, differences, unrepairable, problems } = work;
  return {
    months: [...work.months.values()].sort((a, b) => (a.month < b.month ? -1 : 1)),
    differing,
    differences,
    unlisted,
    unrepairable,
    repaired: options.repair && problems.length === 0 && unrepairable === 0,
    problems,
  };
}

type Verifying = {
  deps: VerifyReviewsDeps;
  /** When the verification began, by the database's clock. */
  since: Date;
  repair: boolean;
  /** By month. A warehouse that lacks everything has a million differences, so most are only counted. */
  months: Map<string, MonthRow>;
  differing: number;
  unrepairable: number;
  differences: Found[];
  /** Reviews of the warehouse that no list showed: how many, and those that are asked about. */
  missed: number;
  absent: Absent[];
  problems: string[];
};

async function verifyWindow(work: Verifying, span: Span): Promise<void> {
  const { deps } = work;
  const { warehouse, askedAtMost = 20_000 } = deps;
  const seen = new Map<string, Second | undefined>();
  const found = new Map<string, Difference>();
  const { gaps } = await readSpans(
    deps,
    { axis: 'created', span },
    {
      async land(page) {
        for (const [index, id] of page.ids.entries()) seen.set(id, page.seconds[index]);
        const differences = await comparePage(warehouse, page, work.since);
        for (const one of differences) if (one.id !== null) found.set(String(one.id), one);
        // A record without a usable id goes by its text.
        for (const id of page.ids) if (!/^[1-9]\d*$/.test(id)) found.set(id, { id: null, kind: 'refused', fields: [] });
        if (work.repair && differences.length > 0) await landPage(warehouse, page, { since: work.since });
      },
      async enter(proven) {
        const absent = await absentIn(warehouse.db, proven.span, proven.ids);
        work.missed += absent.length;
        work.absent.push(...absent.slice(0, askedAtMost - work.absent.length));
      },
    },
  );
  work.problems.push(...gaps.map((gap) => gap.reason));
  const isWithin = (second: Second | undefined) => second === undefined || (second >= span.start && second < span.end);
  for (const second of seen.values()) {
    if (isWithin(second)) monthOf(work, second).service += 1;
  }
  for (const [id, one] of found) {
    const second = seen.get(id);
    if (isWithin(second)) addDifference(work, one, second);
  }
}

/** Asks about what the lists did not show. Gives how many the service knows nevertheless. */
async function settleAbsent(work: Verifying): Promise<number> {
  const { deps, absent, missed } = work;
  const { warehouse, plausible } = deps;
  const { gone, unlisted, unknown, reason, problem } = await confirmDeleted(deps, absent, {
    mark: work.repair,
    async show({ createdAt }, rawBody) {
      const differences = await compareOne(warehouse, rawBody, work.since);
      for (const one of differences) addDifference(work, one, secondOf(createdAt));
      if (work.repair && differences.length > 0) await landOne(warehouse, rawBody, plausible, { since: work.since });
    },
  });
  const isGone = new Set(gone);
  for (const { id, createdAt } of absent) {
    if (isGone.has(id)) addDifference(work, { id, kind: 'extra', fields: [] }, secondOf(createdAt));
  }
  if (problem !== undefined) work.problems.push(problem);
  if (unknown > 0) work.problems.push(`${unknown} reviews could not be asked about: ${reason ?? ''}`);
  if (missed > absent.length) {
    const [all, asked] = [missed, absent.length].map((n) => n.toLocaleString('en'));
    work.problems.push(`${all} reviews are in no list, and only ${asked} were asked about: verify a shorter range`);
  }
  return unlisted;
}

const monthOf = (work: Verifying, second: Second | undefined): MonthRow =>
  rowOf(work, second === undefined ? 'no date' : dayOf(second, work.deps.timeZone).slice(0, 7));

function rowOf({ months }: Verifying, month: string): MonthRow {
  const row = months.get(month) ?? { month, service: 0, warehouse: 0, missing: 0, stale: 0, extra: 0 };
  months.set(month, row);
  return row;
}

const monthColumnOf = {
  missing: 'missing',
  refused: 'missing',
  stale: 'stale',
  reverted: 'stale',
  extra: 'extra',
} as const satisfies Record<Found['kind'], keyof MonthRow>;

function addDifference(work: Verifying, one: Omit<Found, 'month'>, second: Second | undefined): void {
  const row = monthOf(work, second);
  row[monthColumnOf[one.kind]] += 1;
  work.differing += 1;
  if (one.kind === 'refused') work.unrepairable += 1;
  if (work.differences.length < listedAtMost) work.differences.push({ ...one, month: row.month });
}
