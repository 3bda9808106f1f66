import { ensure, idsOf, isRow, isSuccess, listOf, type Row, rowOf } from './expect.ts';
import { type Answer, type Kind, type Made, once, type Params, type Session } from './session.ts';
import { CannotTell } from './statement.ts';

export const codeOf = (session: Session, name: string) => `${session.prefix}-${name}`;

/** The shop account of all that is made, unless it says otherwise. */
export const userOf = (session: Session) => codeOf(session, 'user');

/** The parameter that takes the code. Grades have none: their name serves as one. */
export const keyOf = (kind: Kind) => (kind === 'user_grades' ? 'name' : 'code');

/** Creates something, entered in the ledger first. */
export async function post(session: Session, kind: Kind, name: string, params: Params = {}) {
  const code = codeOf(session, name);
  const entry = enter(session, kind, code);
  const answer = await session.call('POST', `/v1/${kind}`, { form: { [keyOf(kind)]: code, ...params } });
  noteId(session, entry, answer);
  return answer;
}

/** For a request that creates under a code of this run; each has its entry, as a service may make two of one code. */
export function enter(session: Session, kind: Kind, code: string): Made {
  const made = { kind, code };
  session.ledger.push(made);
  return made;
}

/** Keeps the id for the removal, if it is certain that the answer is about what this run made. */
export function noteId(session: Session, made: Made, { body }: Answer): void {
  if (isOwn(session, body) && typeof body.id === 'number') made.id = body.id;
}

/** What was created, as something else is asked about it. @throws CannotTell where it was not. */
export function createdBy(session: Session, answer: Answer): Row & { id: number } {
  if (isSuccess(answer) && !isOwn(session, answer.body)) {
    throw new CannotTell(`needs a record whose answer shows its code, so that no other is changed: ${answer.told}`);
  }
  return addedBy(answer);
}

/** A sub-order that was added: what shows no code, but lies in an order of this run. */
export function addedBy(answer: Answer): Row & { id: number } {
  const { body } = answer;
  if (isSuccess(answer) && isRow(body) && typeof body.id === 'number') return { ...body, id: body.id };
  throw new CannotTell(`needs a record that could not be made: ${answer.told}`);
}

/** A wrong id in an answer must not lead to a record of the shop's. */
export const isOwn = (session: Session, row: unknown): row is Row =>
  isRow(row) && Object.values(row).some((value) => typeof value === 'string' && value.includes(session.prefix));

/** A time as the service's parameters take it: a day, a time without offset, a time with it. */
export type Moment = { day: string; datetime: string; iso: string };

export type Clock = {
  /** A time of day, that many days before the service's today; negative is after. */
  daysAgo(days: number, time: string): Moment;
  today(): string;
};

/** Days and times in the service's zone, by the offset of a timestamp that it shows. */
export async function clockOf(session: Session): Promise<Clock> {
  const offset = await offsetOf(session);
  const [, sign, hours, minutes] = /([+-])(\d\d):?(\d\d)$/.exec(offset) ?? [];
  const offsetMs = (sign === '-' ? -1 : 1) * (Number(hours ?? 0) * 60 + Number(minutes ?? 0)) * 60_000;
  const dayAt = (days: number) =>
    new Date(session.now().getTime() + offsetMs - days * 86_400_000).toISOString().slice(0, 10);
  return {
    today: () => dayAt(0),
    daysAgo(days, time) {
      const day = dayAt(days);
      return { day, datetime: `${day} ${time}`, iso: `${day}T${time}${offset}` };
    },
  };
}

/** The moment of `daysAgo` as a parameter takes it. */
export const isoOf = (days: number, time: string) => async (session: Session) =>
  (await clockOf(session)).daysAgo(days, time).iso;

/** The offset in which the service shows its times; it is looked for without writing first. */
const offsetOf = once(async (session) => {
  const { body: overview } = await session.call('GET', '/v1/reviews/overview');
  const found = offsetIn(isRow(overview) ? overview.last_review_created_at : undefined);
  if (found) return found;
  const { body } = await session.call('GET', '/v1/user_grades', { query: { limit: 1 } });
  const listed = offsetIn(Array.isArray(body) && isRow(body[0]) ? body[0].created_at : undefined);
  if (listed) return listed;
  const offset = offsetIn(createdBy(session, await post(session, 'user_grades', 'clock')).created_at);
  if (offset) return offset;
  throw new CannotTell('needs a timestamp of the service that shows its offset');
});

function offsetIn(time: unknown): string | undefined {
  const [, offset] = /T[\d:.]+(Z|[+-]\d\d:?\d\d)$/.exec(typeof time === 'string' ? time : '') ?? [];
  return offset === 'Z' ? '+00:00' : offset;
}

export const orderParams = async (session: Session): Promise<Params> => ({
  created_at: await isoOf(1, '12:00:00')(session),
  total_price: 12_300,
  user_code: userOf(session),
  user_name: userOf(session),
});

type Given = (session: Session) => Params | Promise<Params>;

/**
 * Records of a kind: `one` that many statements share, `answer`, the answer to its creation, and `fresh`, others for checks
 * that change or delete them.
 *
 * @param noun what the code of `one` ends with. @param given what each of them has. @param more what `one` has beside it.
 */
function makerOf(kind: Kind, noun: string, given: Given, more: Given = () => ({})) {
  const answer = once(async (session) =>
    post(session, kind, noun, { ...(await given(session)), ...(await more(session)) }),
  );
  return {
    answer,
    one: async (session: Session) => createdBy(session, await answer(session)),
    fresh: async (session: Session, name: string, other: Params = {}) =>
      createdBy(session, await post(session, kind, name, { ...(await given(session)), ...other })),
  };
}

export const productCodeOf = (session: Session) => session.settings.productCode ?? codeOf(session, 'product');

export const reviewParams = (session: Session): Params => ({
  product_code: productCodeOf(session),
  message: 'A conformance test. It will be removed.',
  score: 4,
  user_code: userOf(session),
  user_name: 'Conformance',
});

export const records = {
  // The address is reserved for examples, so that no mail can reach anybody.
  orders: makerOf('orders', 'order', orderParams, () => ({
    ...{ user_phone: '000-0000-0000', user_email: 'nobody@example.invalid' },
  })),
  categories: makerOf('categories', 'category', () => ({ name: 'Conformance', status: 'hidden' })),
  user_grades: makerOf('user_grades', 'user grade', () => ({ icon_url: 'https://example.com/grade.png' })),
  reviews: makerOf('reviews', 'review', reviewParams, (session) => ({
    tag_name: codeOf(session, 'tag'),
    'product_options[]': ['Size:L', 'Colour:red'],
  })),
};

/** The service's id of the product; only a review of it tells. */
export async function productIdOf(session: Session): Promise<number> {
  const { product_id: id } = await records.reviews.one(session);
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
export const orderOfSubOrder = once((session) => records.orders.fresh(session, 'order-of-sub-order'));

/** The answer to adding a sub-order to this run's order; it goes with the order. */
export const subOrderAnswer = once(async (session) => {
  const { id } = await orderOfSubOrder(session);
  return session.call('POST', `/v1/orders/${id}/sub_orders`, { form: await subOrderParams(session) });
});
export const aSubOrder = async (session: Session) => addedBy(await subOrderAnswer(session));

/** A sub-order as the order's detail shows it. */
export async function readSubOrder(session: Session, orderId: unknown, id: unknown): Promise<Row | undefined> {
  const { sub_orders: all } = await rowOf(await session.call('GET', `/v1/orders/${orderId}`));
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

/** A record of this run, read by its id. */
export async function detailOf(
  session: Session,
  path: string,
  one: (session: Session) => Promise<{ id: number }>,
): Promise<Row> {
  const { id } = await one(session);
  return rowOf(await session.call('GET', `${path}/${id}`));
}

/** One more than a review list has pages. */
export const manyCount = 31;

/** The account of those that are made in numbers. */
export const manyUser = (session: Session) => codeOf(session, 'many');

/** So many reviews, a second apart, two days ago. */
export const manyReviews = once(async (session) => {
  const clock = await clockOf(session);
  const all = [];
  for (let index = 0; index < manyCount; index += 1) {
    const at = clock.daysAgo(2, `12:00:${String(index).padStart(2, '0')}`);
    const of = { user_code: manyUser(session), created_at: at.iso };
    all.push({ ...(await records.reviews.fresh(session, `many-${index}`, of)), at });
  }
  return all;
});

/** Why nothing can be told of images. */
export const noImage = 'the service stored no image: give one that it can load by --image-url';
