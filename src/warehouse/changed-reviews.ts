import { type Db, firstOf, isAny, rowOf, rowsOf, write } from './index.ts';

/** The most reviews that may wait. At the highest request rate for webhooks they take less than an hour. */
const mostWaiting = 50_000;

/** Whether the maximum of changed reviews waits. */
export const isInboxFull = (db: Db) => isAny(db)`select from sync.changed_reviews offset ${mostWaiting - 1} limit 1`;

/** Stores which reviews to read again. A product that changed is read by its newest review, which shows its code. */
export async function noteChanged(db: Db, reviewIds: readonly number[], productIds: readonly number[]): Promise<void> {
  if (reviewIds.length + productIds.length === 0) return;
  await rowsOf(db, 'note_changed_reviews', reviewIds, productIds);
}

/** `attempts`: with the attempt that begins now. */
export type TakenReview = { id: number; events: number; attempts: number };

/**
 * Takes the review that is due longest, under a lease of 2, 4, 8 … minutes. If the review was not read by then, it is
 * due again. If a request takes longer, two processes read the review, which does no harm.
 */
export const takeChangedReview = (db: Db) => firstOf<TakenReview>(db)`
  update sync.changed_reviews
  set attempts = attempts + 1, due_at = now() + 2 ^ attempts * interval '2 minutes'
  where review_id = (
    select review_id from sync.changed_reviews where due_at <= now()
    order by due_at limit 1 for update skip locked
  )
  returning review_id as id, events, attempts`;

/** The review was read, or is left to the runs. If another event came meanwhile, it is due again. */
export const finishChangedReview = (db: Db, { id, events }: TakenReview) => write(db)`
  with finished as (delete from sync.changed_reviews where review_id = ${id} and events = ${events})
  update sync.changed_reviews set due_at = now(), attempts = 0
  where review_id = ${id} and events <> ${events}`;

/** Stores the brands that a webhook names. @returns the brands of the last seven days, at most 100. */
export async function noteBrands(db: Db, brandIds: readonly number[]): Promise<number[]> {
  const rows = await rowsOf<{ brand: number }>(db, 'note_brands', brandIds);
  return rows.map(({ brand }) => brand);
}

/**
 * `waiting`: reviews that webhooks named and that are not read yet. `oldestAt`: when the first of them was named.
 * `dueSince`: when the review that is due longest became due.
 */
export type InboxState = {
  waiting: number;
  oldestAt: Date | null;
  dueSince: Date | null;
  lastReceivedAt: Date | null;
};

export const inboxState = (db: Db) => rowOf<InboxState>(db)`
  select count(*)::integer as waiting, min(received_at) as "oldestAt",
    min(due_at) filter (where due_at <= now()) as "dueSince",
    (select max(value::timestamptz) from sync.settings, jsonb_each_text(webhook_brands)) as "lastReceivedAt"
  from sync.changed_reviews`;

export type ProductRating = {
  id: number;
  /** As text, even if the service sends a number. */
  code: string | null;
  reviewsCount: number;
  score: number | null;
  metaReviewsCount: number | null;
  metaScore: number | null;
  /** By the warehouse's clock; undefined: now. */
  receivedAt: Date | undefined;
};

/** Stores the newest summary of each product. Summaries have no date, so the last one received counts. */
export async function putProductRatings(db: Db, ratings: readonly ProductRating[]): Promise<void> {
  if (ratings.length === 0) return;
  await rowsOf(db, 'put_product_ratings', JSON.stringify(ratings));
}
