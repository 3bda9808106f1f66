import pLimit from 'p-limit';
import type { DayRange } from '../day-range.ts';
import { IncompleteError } from '../errors.ts';
import type { ReviewApi } from '../review-api/index.ts';
import { dayOf, type Second, type Span } from '../span.ts';
import { type Absent, absentIn } from '../warehouse/absent-reviews.ts';
import { comparePage, countByMonth, type Difference } from '../warehouse/compare-reviews.ts';
import type { Warehouse } from '../warehouse/index.ts';
import { landPage, nothingComplete } from '../warehouse/reviews.ts';
import { spansOf } from './backfill-reviews.ts';
import { allSpans } from './bounds.ts';
import { captureOverview } from './capture-overview.ts';
import { confirmGone, markGone } from './confirm-gone.ts';
import { planWindows } from './plan-windows.ts';
import { readSpan } from './read-span.ts';
import type { ReadDeps } from './span-run.ts';

export type VerifyDeps = ReadDeps & {
  reviews: Pick<ReviewApi['reviews'], 'page' | 'getRaw' | 'overview'>;
  warehouse: Warehouse;
  now: () => Date;
  onProgress(windows: number, of: number): void;
};

/** `extra`: in the warehouse, and the service says it is gone. Months are those of created_at in the service's zone. */
export type Found = { id: number | null; kind: Difference['kind'] | 'extra'; fields: string[]; month: string };

type MonthRow = { month: string; service: number; warehouse: number; missing: number; stale: number; extra: number };

export type Verification = {
  months: MonthRow[];
  differences: Found[];
  /** Absent from the lists, but known to the service by their id: hidden, perhaps. No difference. */
  unlisted: number;
  repaired: boolean;
  /** Why the verification is not to be relied upon. */
  problems: string[];
};

const windowsAtATime = 4;

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
  const overview = await captureOverview({ reviews: deps.reviews, db: warehouse.db, now: deps.now });
  const isOpen = range.from === undefined && range.to === undefined;
  const spans = isOpen ? await allSpans(warehouse.db, overview) : spansOf(range, timeZone, overview);
  const windows = spans.flatMap((span) => planWindows(span));
  const work: Work = { deps, repair: options.repair, service: new Map(), found: [], absent: [], problems: [] };
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
  return {
    months: monthsOf(work, await countByMonth(warehouse.db, spans, timeZone)),
    differences: work.found,
    unlisted,
    repaired: options.repair && work.problems.length === 0 && work.found.every((one) => one.kind !== 'refused'),
    problems: work.problems,
  };
}

type Work = {
  deps: VerifyDeps;
  repair: boolean;
  /** Reviews of the service by month. */
  service: Map<string, number>;
  found: Found[];
  absent: Absent[];
  problems: string[];
};

async function verifyWindow(work: Work, span: Span): Promise<void> {
  const { deps } = work;
  const { warehouse } = deps;
  const met = new Map<string, Second | undefined>();
  const found = new Map<string, Difference>();
  const told = await readSpan(
    deps,
    { axis: 'created', span },
    {
      async land(part) {
        for (const page of part.pages) {
          for (const [index, id] of page.ids.entries()) met.set(id, page.seconds[index]);
          const raw = { rawBody: page.rawBody, count: page.ids.length };
          const differences = await comparePage(warehouse, raw);
          for (const one of differences) found.set(String(one.id), one);
          if (work.repair && differences.length > 0) await landPage(warehouse, raw, nothingComplete);
        }
        if (part.complete) work.absent.push(...(await absentIn(warehouse.db, part.complete, part.ids)));
      },
      revoke: async ({ start, end }) => {
        work.absent = work.absent.filter(({ createdAt: at }) => +at < start * 1000 || +at >= end * 1000);
      },
    },
  );
  work.problems.push(...told);
  const isWithin = (second: Second | undefined) => second === undefined || (second >= span.start && second < span.end);
  for (const second of met.values()) {
    if (isWithin(second)) add(work.service, monthOf(work, second));
  }
  for (const [id, one] of found) {
    const second = met.get(id);
    if (isWithin(second)) work.found.push({ ...one, month: monthOf(work, second) });
  }
}

/** Asks about what the lists did not show. Gives how many the service knows nevertheless. */
async function settleAbsent(work: Work): Promise<number> {
  const { deps, absent } = work;
  const { db } = deps.warehouse;
  const missed = new Set(work.found.filter((one) => one.kind === 'missing').map((one) => one.id));
  const shown = [...work.service.values()].reduce((sum, n) => sum + n, 0);
  const extra = (review: Absent) => {
    const second = Math.floor(review.createdAt.getTime() / 1000);
    work.found.push({ id: review.id, kind: 'extra', fields: [], month: monthOf(work, second) });
  };
  const unknown = absent.filter((review) => !missed.has(review.id));
  try {
    const confirmed = await confirmGone({ ...deps, db }, { absent: unknown, shown });
    for (const review of unknown) if (confirmed.gone.includes(review.id)) extra(review);
    if (work.repair) await markGone({ db, now: deps.now }, confirmed.gone);
    return confirmed.unlisted.length;
  } catch (error) {
    if (!(error instanceof IncompleteError)) throw error;
    work.problems.push(error.message);
    for (const review of unknown) extra(review);
    return 0;
  }
}

const monthOf = (work: Work, second: Second | undefined) =>
  second === undefined ? 'no date' : dayOf(second, work.deps.timeZone).slice(0, 7);

function monthsOf(work: Work, warehouse: ReadonlyMap<string, number>): MonthRow[] {
  const months = [...new Set([...work.service.keys(), ...warehouse.keys(), ...work.found.map((one) => one.month)])];
  return months.sort().map((month) => {
    const count = (...kinds: Found['kind'][]) =>
      work.found.filter((one) => one.month === month && kinds.includes(one.kind)).length;
    return {
      ...{ month, service: work.service.get(month) ?? 0, warehouse: warehouse.get(month) ?? 0 },
      ...{ missing: count('missing', 'refused'), stale: count('stale'), extra: count('extra') },
    };
  });
}

function add(counts: Map<string, number>, key: string): void {
  counts.set(key, (counts.get(key) ?? 0) + 1);
}
