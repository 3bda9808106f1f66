import { clockOf } from './clock.ts';
import type { Kind } from './ledger.ts';
import { codeOf, createdBy, post } from './post.ts';
import { orderParams, reviewParams } from './records.ts';
import type { Session } from './session.ts';

/** One more than a page has by default, and than a review list has pages. */
export const manyCount = 31;

/** The account of those that are made in numbers. */
export const manyUser = (session: Session) => codeOf(session, 'many');

/** So many reviews, a second apart, two days ago. */
export async function manyReviews(session: Session) {
  const clock = await clockOf(session);
  const made = [];
  for (let index = 0; index < manyCount; index += 1) {
    const at = clock.daysAgo(2, `12:00:${String(index).padStart(2, '0')}`);
    const params = { ...reviewParams(session), user_code: manyUser(session), created_at: at.iso };
    made.push({ ...createdBy(session, await post(session, 'reviews', `many-${index}`, params)), at });
  }
  return made;
}

/** Makes so many of a kind, where a list would else be too short to show its default page size. */
export async function makeMany(session: Session, kind: Kind): Promise<void> {
  if (kind === 'reviews') {
    await session.shared(manyReviews);
    return;
  }
  const order =
    kind === 'orders'
      ? { ...(await orderParams(session)), user_code: manyUser(session), user_name: manyUser(session) }
      : {};
  const more = { orders: order, categories: { name: 'Conformance', status: 'hidden' }, user_grades: {} }[kind];
  for (let index = 0; index < manyCount; index += 1)
    createdBy(session, await post(session, kind, `many-${index}`, more));
}
