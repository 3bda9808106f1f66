import { clockOf } from './clock.ts';
import { isRow, listOf, type Row, rowOf } from './expect.ts';
import { codeOf, createdBy, post, postJson } from './post.ts';
import { aReview, freshReview, fullestOf, reviewAnswer, reviewParams } from './records.ts';
import type { Session } from './session.ts';
import { CannotTell } from './statement.ts';

const path = '/v1/reviews';

/** The newest reviews that the service holds, up to a hundred of the last 30 days. */
export async function newestReviews(session: Session): Promise<Row[]> {
  if (!session.settings.readOnly) await session.shared(reviewAnswer);
  return listOf(await session.call('GET', path, { query: { limit: 100, date_order_desc: 1 } }));
}

/** This run's review as the list shows it, or the fullest of the newest in a run that only reads. */
export async function listedReview(session: Session): Promise<Row> {
  const own = session.settings.readOnly ? undefined : await session.shared(aReview);
  const rows = await session.shared(newestReviews);
  const found = own ? rows.find((row) => row.id === own.id) : fullestOf(rows);
  if (found) return found;
  throw new CannotTell(
    own ? 'the review made is not among the 100 newest listed' : 'the service holds no review in the last 30 days',
  );
}

/** One of the newest reviews of which something is true. */
export async function reviewWith(session: Session, what: string, is: (review: Row) => boolean): Promise<Row> {
  const found = (await session.shared(newestReviews)).find(is);
  if (found) return found;
  throw new CannotTell(`none of the 100 newest reviews of the last 30 days ${what}`);
}

export const hasItems = (field: string) => (review: Row) => Array.isArray(review[field]) && review[field].length > 0;

/** This run's review with a picture, once the service has stored it; else one of the newest with an image. */
export async function pictured(session: Session): Promise<Row> {
  if (session.settings.readOnly) return reviewWith(session, 'has an image', hasItems('images'));
  const { id } = await session.shared(withImages);
  return session.until('the service stored no image: give one that it can load by --image-url', async () => {
    const { body } = await session.call('GET', `${path}/${id}`);
    return isRow(body) && hasItems('images')(body) ? body : undefined;
  });
}

export const withImages = (session: Session) =>
  freshReview(session, 'with-image', { 'image_urls[]': [session.settings.imageUrl] });

/** The answer to a review with one item of additional information, sent as JSON. */
export async function optionsAnswer(session: Session) {
  const { product_code, message, score, user_code, user_name } = reviewParams(session);
  const created_at = (await clockOf(session)).daysAgo(1, '12:00:00').iso;
  const item = { review_option_type_id: session.settings.optionTypeId, created_at, value: 'Fits well' };
  return postJson(session, 'reviews', 'with-options', {
    product_code,
    message,
    score,
    user_code,
    user_name,
    options: [item],
  });
}

/** Which form of the options the shop has, as its reviews show it. */
export async function optionsFormOf(session: Session): Promise<'default' | 'v2'> {
  return 'option_type_name' in (await session.shared(anOption)) ? 'v2' : 'default';
}

/** An item of additional information that the service shows: of a listed review, or else of one of this run. */
export async function anOption(session: Session): Promise<Row> {
  const listed = (await session.shared(newestReviews)).find(hasItems('options'));
  const review = listed ?? (session.settings.readOnly ? {} : createdBy(session, await session.shared(optionsAnswer)));
  const [item] = Array.isArray(review.options) ? review.options : [];
  if (isRow(item)) return item;
  throw new CannotTell('needs a review of the last 30 days with additional information');
}

/** A review of this run, written at a time of its own; each is made once. */
export const reviewAt = (name: string, days: number, time: string, more: { score?: number } = {}) =>
  async function datedReview(session: Session) {
    const at = (await clockOf(session)).daysAgo(days, time);
    const params = { ...reviewParams(session), user_code: codeOf(session, 'dated'), ...more, created_at: at.iso };
    const made = createdBy(session, await post(session, 'reviews', name, params));
    // Clocks that went forward or back in between would move it.
    if (String(made.created_at).slice(0, 19) === at.iso.slice(0, 19)) return { ...made, at };
    throw new CannotTell(`a review written at ${at.iso} is shown at ${made.created_at}`);
  };

/** The overview of a service that holds a review. */
export const readOverview = async (session: Session) => {
  if (!session.settings.readOnly) await session.shared(reviewAnswer);
  const found = rowOf(await session.call('GET', '/v1/reviews/overview'));
  if (session.settings.readOnly && found.last_review_created_at === null) {
    throw new CannotTell('the service holds no review');
  }
  return found;
};
