import pLimit from 'p-limit';
import { IncompleteError } from '../errors.ts';
import { NotFoundError, type ReviewApi } from '../review-api/index.ts';
import { secondOf, unitEnd } from '../span.ts';
import { type Absent, forgetAbsent, markDeleted, newestBut } from '../warehouse/absent-reviews.ts';
import type { Db } from '../warehouse/index.ts';
import type { PageDeps } from './page.ts';
import { readAllPages } from './read-all-pages.ts';

export type ConfirmDeps = PageDeps & {
  reviews: Pick<ReviewApi['reviews'], 'page' | 'getRaw'>;
  db: Db;
  now: () => Date;
};

export type Missed = {
  absent: readonly Absent[];
  /** How many reviews the same reading did show. */
  shown: number;
};

/** `gone`: answered with 404. `unlisted`: still there, but in no list (hidden, perhaps). `back`: in the second reading. */
export type Confirmed = { gone: number[]; unlisted: number[]; back: number[] };

const atATime = 4;

/**
 * Asks about each review that a complete reading of its date did not show: its second is read again, and where it is
 * absent from that too, the service is asked by id. "Not listed" alone never means deleted (FACTS, "hidden reviews").
 *
 * @throws IncompleteError, with nothing asked, where the service shows so little that it must be at fault itself.
 */
export async function confirmGone(deps: ConfirmDeps, missed: Missed): Promise<Confirmed> {
  const { absent, shown } = missed;
  const confirmed: Confirmed = { gone: [], unlisted: [], back: [] };
  if (absent.length === 0) return confirmed;
  const all = absent.length + shown;
  if (absent.length > shown || !(await isAnyKnown(deps, absent))) {
    throw new IncompleteError(
      `The service shows ${shown.toLocaleString('en')} of ${all.toLocaleString('en')} reviews that the warehouse holds: too few to believe that the others were deleted, so none was marked`,
      { hint: 'See what the service lacks. If they really are gone, delete their rows from warehouse.reviews.' },
    );
  }
  const limit = pLimit(atATime);
  await Promise.all(
    absent.map((review) =>
      limit(async () => {
        deps.signal.throwIfAborted();
        confirmed[await ask(deps, review)].push(review.id);
      }),
    ),
  );
  await forgetAbsent(deps.db, [...confirmed.unlisted, ...confirmed.back]);
  return confirmed;
}

/** A service that does not know by id what it lists would say 404 to anything. */
async function isAnyKnown(deps: ConfirmDeps, absent: readonly Absent[]): Promise<boolean> {
  for (const id of await newestBut(
    deps.db,
    absent.map((review) => review.id),
  )) {
    if (await exists(deps, id)) return true;
  }
  return false;
}

async function ask(deps: ConfirmDeps, { id, createdAt }: Absent): Promise<keyof Confirmed> {
  const start = secondOf(createdAt);
  const unit = { start, end: unitEnd(start, deps.timeZone) };
  const { ids } = await readAllPages(deps, { axis: 'created', span: unit });
  if (ids.includes(String(id))) return 'back';
  return (await exists(deps, id)) ? 'unlisted' : 'gone';
}

async function exists(deps: ConfirmDeps, id: number): Promise<boolean> {
  try {
    await deps.reviews.getRaw(id);
    return true;
  } catch (error) {
    if (error instanceof NotFoundError) return false;
    throw error;
  }
}

export async function markGone(deps: Pick<ConfirmDeps, 'db' | 'now'>, ids: readonly number[]): Promise<void> {
  for (const id of ids) await markDeleted(deps.db, id, deps.now());
}
