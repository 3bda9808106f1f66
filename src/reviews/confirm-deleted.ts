import pLimit from 'p-limit';
import { describeError, IncompleteError } from '../base/errors.ts';
import { secondOf, shortestEnd } from '../base/time/span.ts';
import { AuthenticationError, NotFoundError, type ReviewApi, ReviewApiError } from '../review-api/index.ts';
import type { Db } from '../warehouse/index.ts';
import { type Absent, forgetAbsent, markDeleted, newestBut } from '../warehouse/reviews/absent-reviews.ts';
import { tooFewReason } from './export-window.ts';
import type { PageDeps } from './read/list-page.ts';
import { readPages } from './read/read-pages.ts';

export type ConfirmDeps = PageDeps & {
  reviews: Pick<ReviewApi['reviews'], 'page' | 'getRaw'>;
  db: Db;
  now: () => Date;
};

export type Missed = {
  absent: readonly Absent[];
  /** Reviews that the same reading missed, and how many it did show. */
  missed: number;
  shown: number;
};

/**
 * `gone`: absent from a second reading, and 404 by its id. `unlisted`: known by its id, but in no list (perhaps
 * hidden). `back`: in the second reading. `unknown`: no usable response; the review stays suspected.
 */
export type Confirmed = {
  gone: number[];
  unlisted: number[];
  back: number[];
  unknown: number[];
  reason: string | undefined;
};

const atATime = 4;
/** How long one review is asked for where the service fails on it, in milliseconds. */
const confirmGiveUpMs = 15_000;
/** Requests without a usable response, and none with one, after which nothing more is asked. */
const unknownAtMost = 20;

/**
 * Asks about each review that a proven reading of its date did not show: its second is read again, and where it is
 * absent from that too, the service is asked by id. "Not listed" alone never means deleted (docs/service-facts.md).
 * What is found out about one review is written before the next is asked about.
 *
 * @param options.mark writes: marks what is gone as deleted, and suspects no longer what was found.
 * @throws IncompleteError, with nothing written, where the service shows so little that it must be at fault itself, or
 *   does not know by id what it lists.
 */
export async function confirmDeleted(
  deps: ConfirmDeps,
  { absent, missed, shown }: Missed,
  options: { mark: boolean },
): Promise<Confirmed> {
  const confirmed: Confirmed = { gone: [], unlisted: [], back: [], unknown: [], reason: undefined };
  if (absent.length === 0) return confirmed;
  if (missed > shown || !(await isAnyKnown(deps, absent))) {
    throw new IncompleteError(tooFewReason(shown, missed + shown), {
      hint: 'See what the service lacks. If they really are gone, delete their rows from warehouse.reviews.',
    });
  }
  let responses = 0;
  const settle = async (ids: readonly number[], work: () => Promise<void>) => {
    if (responses === 0 && confirmed.unknown.length >= unknownAtMost) {
      confirmed.unknown.push(...ids);
      return;
    }
    try {
      await work();
      responses += 1;
    } catch (error) {
      if (!(error instanceof ReviewApiError) || error instanceof AuthenticationError) throw error;
      confirmed.unknown.push(...ids);
      confirmed.reason ??= describeError(error);
    }
  };
  const settleOne = async (id: number, listed: ReadonlySet<string>) => {
    const kind = listed.has(String(id)) ? 'back' : (await exists(deps, id)) ? 'unlisted' : 'gone';
    if (options.mark && kind === 'gone') await markDeleted(deps.db, id, deps.now());
    else if (kind !== 'gone') await forgetAbsent(deps.db, [id]);
    confirmed[kind].push(id);
  };
  const limit = pLimit(atATime);
  const bySecond = Map.groupBy(absent, ({ createdAt }) => secondOf(createdAt));
  const readings = [...bySecond].map(([start, reviews]) => {
    const ids = reviews.map(({ id }) => id);
    return limit(() =>
      settle(ids, async () => {
        deps.signal.throwIfAborted();
        const span = { start, end: shortestEnd(start, deps.timeZone) };
        const { all } = await readPages(deps, { axis: 'created', span });
        for (const id of ids) await settle([id], () => settleOne(id, all));
      }),
    );
  });
  const ends = await Promise.allSettled(readings);
  for (const end of ends) if (end.status === 'rejected') throw end.reason;
  return confirmed;
}

/**
 * A service that does not know by id what it lists would say 404 to anything. One that fails on a review is asked for
 * another.
 */
async function isAnyKnown(deps: ConfirmDeps, absent: readonly Absent[]): Promise<boolean> {
  const suspected = absent.map((review) => review.id);
  const failures: unknown[] = [];
  for (const id of await newestBut(deps.db, suspected)) {
    try {
      if (await exists(deps, id)) return true;
    } catch (error) {
      if (!(error instanceof ReviewApiError)) throw error;
      failures.push(error);
    }
  }
  if (failures.length > 0) throw failures[0];
  return false;
}

async function exists(deps: ConfirmDeps, id: number): Promise<boolean> {
  try {
    await deps.reviews.getRaw(id, { giveUpAfterMs: confirmGiveUpMs });
    return true;
  } catch (error) {
    if (error instanceof NotFoundError) return false;
    throw error;
  }
}
