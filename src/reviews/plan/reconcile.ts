import type { Conclusion } from '../../base/counts.ts';
import { partBefore, secondOf } from '../../base/time/span.ts';
import { closeUnseenReviews } from '../../warehouse/dead-letters.ts';
import { countAbsent, deletedSince, newestBut, suspects } from '../../warehouse/reviews/absent-reviews.ts';
import { closeGapsReadSince, coveredSpans, openGaps } from '../../warehouse/reviews/coverage.ts';
import { landPage } from '../../warehouse/reviews/land-reviews.ts';
import { pruneHistory } from '../../warehouse/runs/retention.ts';
import { dayMs } from '../limits.ts';
import { pageOfOne } from '../read/list-page.ts';
import { gapsProblem } from '../read/read-window.ts';
import { confirmDeleted, refreshReview, untilDown } from '../refresh/refresh-review.ts';
import type { ReviewDeps } from '../review-deps.ts';
import { planWindows, type Window } from '../windows.ts';
import { allReviews } from './review-bounds.ts';

/** Deleted reviews that one run asks for again. The others stay marked as deleted. */
const restoredAtMost = 500;

/**
 * Plans what to read again: on the created axis, the newest `recentDays` each time, everything that no reconcile has
 * read for `allDays`, and every open gap. So a review that the service showed late lands, a deleted review is found,
 * and a gap of updates closes once everything up to its end was read.
 */
export async function planReconcile(
  deps: ReviewDeps,
  options: { job: string; recentDays: number; allDays: number },
): Promise<Window[]> {
  const { start } = await allReviews(deps);
  const recently = secondOf(deps.now()) - options.recentDays * 86_400;
  const since = new Date(deps.now().getTime() - options.allDays * dayMs);
  const covered = await coveredSpans(deps.warehouse.db, 'created', { since, job: options.job });
  const older = covered.flatMap((span) => partBefore(span, recently));
  const windows = planWindows('created', { start, end: deps.plausible.end }, older);
  const spans = windows.map(({ span }) => span);
  const gaps = (await openGaps(deps.warehouse.db)).filter(({ axis }) => axis === 'created');
  return [...windows, ...gaps.flatMap(({ axis, span }) => planWindows(axis, span, spans))];
}

/**
 * Marks reviews that are gone, and shortens the history. Called even if windows failed, to ask about reviews that the
 * other windows missed.
 *
 * @param options.askedAtMost reviews that one run asks about by id. The others wait for the next run.
 * @returns a problem if reviews could not be asked about, gaps are open, or the service cannot be trusted.
 */
export async function concludeReconcile(
  deps: ReviewDeps,
  { recentDays, allDays, askedAtMost = 20_000 }: { recentDays: number; allDays: number; askedAtMost?: number },
): Promise<Conclusion> {
  const { warehouse, plausible } = deps;
  const { db } = warehouse;
  const daysAgo = (days: number) => new Date(deps.now().getTime() - days * dayMs);
  // If the service has restored a review, it comes back, even if it is hidden and no list shows it.
  const deleted = await deletedSince(db, daysAgo(recentDays), restoredAtMost);
  await untilDown(deleted, async (id) => (await refreshReview(deps, id)).kind);
  // Everything was read since then. A record that no list shows any more was corrected or deleted.
  await closeUnseenReviews(db, daysAgo(allDays + 1));
  await closeGapsReadSince(db);
  await pruneHistory(db, deps.now(), allDays);
  const absent = await suspects(db, askedAtMost);
  const { gone, unlisted, problems } = await confirmDeleted(deps, absent, {
    mark: true,
    suspected: await countAbsent(db),
    // The run has read the newest days. Reviews of those days that no list shows are themselves suspected.
    others: await newestBut(db, []),
    async show(_review, shown) {
      // No list shows the review, so only its id shows its changes. Once landed, it is not suspected until its date is
      // read again.
      await landPage(warehouse, pageOfOne(shown, plausible));
    },
  });
  const all = [...problems, gapsProblem(await openGaps(db))].filter((one) => one !== undefined);
  return { counts: { deleted: gone.length, unlisted }, problem: all.join('. ') };
}
