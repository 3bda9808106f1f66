import { clockOf } from './clock.ts';
import { ensure, idsOf, isRow, isSuccess, listOf, type Row, rowOf } from './expect.ts';
import type { Params } from './http.ts';
import { addedBy, codeOf, createdBy, post, userOf } from './post.ts';
import type { Session } from './session.ts';
import { CannotTell } from './statement.ts';

export const orderParams = async (session: Session): Promise<Params> => ({
  created_at: (await clockOf(session)).daysAgo(1, '12:00:00').iso,
  total_price: 12_300,
  user_code: userOf(session),
  user_name: userOf(session),
});

/** With all that an order shows; the address is reserved for examples, so that no mail can reach anybody. */
export const orderAnswer = async (session: Session) =>
  post(session, 'orders', 'order', {
    ...(await orderParams(session)),
    user_phone: '000-0000-0000',
    user_email: 'nobody@example.invalid',
  });

export const anOrder = async (session: Session) => createdBy(session, await session.shared(orderAnswer));

/** An order of its own, for a check that changes or deletes it. */
export const freshOrder = async (session: Session, name: string, more: Params = {}) =>
  createdBy(session, await post(session, 'orders', name, { ...(await orderParams(session)), ...more }));

export const readOrder = async (session: Session, id: unknown) => rowOf(await session.call('GET', `/v1/orders/${id}`));

export const categoryAnswer = (session: Session) =>
  post(session, 'categories', 'category', { name: 'Conformance', status: 'hidden' });
export const aCategory = async (session: Session) => createdBy(session, await session.shared(categoryAnswer));
export const freshCategory = async (session: Session, name: string, more: Params = {}) =>
  createdBy(session, await post(session, 'categories', name, { name: 'Conformance', status: 'hidden', ...more }));

export const gradeAnswer = (session: Session) =>
  post(session, 'user_grades', 'grade', { icon_url: 'https://example.com/grade.png' });
export const aGrade = async (session: Session) => createdBy(session, await session.shared(gradeAnswer));
export const freshGrade = async (session: Session, name: string) =>
  createdBy(session, await post(session, 'user_grades', name));

export const productCodeOf = (session: Session) => session.settings.productCode ?? codeOf(session, 'product');

export const reviewParams = (session: Session): Params => ({
  product_code: productCodeOf(session),
  message: 'A conformance test. It will be removed.',
  score: 4,
  user_code: userOf(session),
  user_name: 'Conformance',
});

export const reviewAnswer = (session: Session) =>
  post(session, 'reviews', 'review', {
    ...reviewParams(session),
    tag_name: codeOf(session, 'tag'),
    'product_options[]': ['Size:L', 'Colour:red'],
  });

export const aReview = async (session: Session) => createdBy(session, await session.shared(reviewAnswer));
export const freshReview = async (session: Session, name: string, more: Params = {}) =>
  createdBy(session, await post(session, 'reviews', name, { ...reviewParams(session), ...more }));

/** The service's id of the product; only a review of it tells. */
export async function productIdOf(session: Session): Promise<number> {
  const { product_id: id } = await session.shared(aReview);
  if (typeof id === 'number') return id;
  throw new CannotTell('needs a product_id, and the review of the product shows none');
}

/** What a sub-order is made of; the product is the review's. */
export const subOrderParams = async (session: Session): Promise<Params> => {
  const clock = await clockOf(session);
  return {
    product_id: await productIdOf(session),
    price: 12_300,
    status: 'delivery_finished',
    delivery_started_at: clock.daysAgo(1, '13:00:00').iso,
    delivered_at: clock.daysAgo(0, '00:00:00').iso,
    invoice: 'INV-1',
    delivery_service: 'Post',
    'product_options[]': ['Size:L', 'Colour:red'],
  };
};

/** What has sub-orders has no e-mail and no phone, so that no review request can go out for it. */
export const orderOfSubOrder = (session: Session) => freshOrder(session, 'order-of-sub-order');

/** The answer to adding a sub-order to this run's order; it goes with the order. */
export const subOrderAnswer = async (session: Session) => {
  const { id } = await session.shared(orderOfSubOrder);
  return session.call('POST', `/v1/orders/${id}/sub_orders`, { form: await subOrderParams(session) });
};
export const aSubOrder = async (session: Session) => addedBy(await session.shared(subOrderAnswer));

/** A sub-order as the order's detail shows it. */
export async function readSubOrder(session: Session, orderId: unknown, id: unknown): Promise<Row | undefined> {
  const { sub_orders: all } = await readOrder(session, orderId);
  return Array.isArray(all) ? all.filter(isRow).find((one) => one.id === id) : undefined;
}

export async function listed(session: Session, path: string, query: Params = {}): Promise<Row[]> {
  return listOf(await session.call('GET', path, { query }));
}

/** Of the first hundred that are listed the one with the fewest nulls: it shows most. */
export async function fullestListed(session: Session, path: string): Promise<Row> {
  const rows = await listed(session, path, { limit: 100 });
  const first = fullestOf(rows);
  if (first) return first;
  throw new CannotTell(`the service lists nothing at ${path}`);
}

export function fullestOf(rows: readonly Row[]): Row | undefined {
  const nulls = (row: Row) => Object.values(row).filter((value) => value === null).length;
  return rows.toSorted((one, other) => nulls(one) - nulls(other))[0];
}

/** Whether the list under these parameters holds the record. */
export async function holds(session: Session, path: string, query: Params, record: Row): Promise<boolean> {
  return idsOf(await listed(session, path, { limit: 100, ...query })).includes(record.id);
}

/** Whether reading it again gives no such record any more. */
export async function isGone(session: Session, path: string, id: unknown): Promise<void> {
  const answer = await session.call('GET', `${path}/${id}`);
  ensure(!isSuccess(answer), answer.told, 'that it is gone');
}

/** A record by its id: one of this run's, or in a run that only reads the fullest that is listed. */
export async function detailOf(
  session: Session,
  path: string,
  one: (session: Session) => Promise<{ id: number }>,
): Promise<Row> {
  const { id } = session.settings.readOnly ? await fullestListed(session, path) : await session.shared(one);
  return rowOf(await session.call('GET', `${path}/${id}`));
}
