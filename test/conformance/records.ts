import type { Answer, Kind, Made, Params, Session } from './session.ts';
import * as is from './statement.ts';

/** A record that this run may change. */
export type Record = is.Row & { id: number };
/** A time as the service's parameters take it: a day, a time without offset, a time with it. */
export type Moment = { day: string; datetime: string; iso: string };

/** What a check works with: the service, and records of this run. */
export type Context = Session & {
  /** The record that `make` gives. It is made at most once in this run. */
  shared<T>(make: (context: Context) => Promise<T>): Promise<T>;
  /** A code of this run. */
  code(name: string): string;
  /** Creates a record by its usual parameters, more, and without some. Enters it in the ledger first. */
  make(kind: Kind, name: string, more?: Params, without?: string, token?: 'none'): Promise<Answer>;
  /** The record of a kind that many statements share, and the answer to its creation. */
  one(kind: Kind): Promise<Record>;
  answer(kind: Kind): Promise<Answer>;
  /** Another one, for a check that changes or deletes it. */
  fresh(kind: Kind, name: string, more?: Params): Promise<Record>;
  /** What is shown at a path. */
  get(path: string, query?: Params): Promise<Answer>;
  list(path: string, query?: Params): Promise<is.Row[]>;
  /** A record as it is shown alone. */
  read(kind: Kind, id: unknown): Promise<is.Row>;
  /** The service's day, and a time of a day that is so many days before it; negative is after. */
  today(): Promise<string>;
  daysAgo(days: number, time: string): Promise<Moment>;
};

export function openContext(session: Session): Context {
  const made = new Map<unknown, Promise<unknown>>();
  const once = <T>(key: unknown, make: () => Promise<T>): Promise<T> => {
    const known = made.get(key) ?? make();
    made.set(key, known);
    return known as Promise<T>;
  };
  const dayAt = async (days: number): Promise<[day: string, offset: string]> => {
    const offset = await context.shared(offsetOf);
    const [, sign, hours, minutes] = /([+-])(\d\d):?(\d\d)$/.exec(offset) ?? [];
    const offsetMs = (sign === '-' ? -1 : 1) * (Number(hours ?? 0) * 60 + Number(minutes ?? 0)) * 60_000;
    const at = new Date(session.now().getTime() + offsetMs - days * 86_400_000);
    return [at.toISOString().slice(0, 10), offset];
  };
  const context: Context = {
    ...session,
    shared: (make) => once(make, () => make(context)),
    code: (name) => `${session.prefix}-${name}`,
    async make(kind, name, more = {}, without = '', token) {
      const code = context.code(name);
      const all = { [keyOf(kind)]: code, ...(await usual[kind](context)), ...more };
      const form = Object.fromEntries(Object.entries(all).filter(([one]) => !without.split(' ').includes(one)));
      // Each request has its entry, as a service may make two records of one code.
      const entry: Made = { kind, code };
      session.ledger.push(entry);
      const answer = await session.call('POST', `/v1/${kind}`, { form, ...(token && { token }) });
      noteId(session, entry, answer);
      return answer;
    },
    answer: (kind) => once(kind, () => context.make(kind, nouns[kind], ofShared[kind]?.(context))),
    one: async (kind) => createdBy(session, await context.answer(kind)),
    fresh: async (kind, name, more) => createdBy(session, await context.make(kind, name, more)),
    get: (path, query = {}) => session.call('GET', path, { query }),
    list: async (path, query) => is.listOf(await context.get(path, query)),
    read: async (kind, id) => is.rowOf(await context.get(`/v1/${kind}/${id}`)),
    today: async () => (await dayAt(0))[0],
    async daysAgo(days, time) {
      const [day, offset] = await dayAt(days);
      return { day, datetime: `${day} ${time}`, iso: `${day}T${time}${offset}` };
    },
  };
  return context;
}

/** The parameter that takes the code. Grades have none: their name serves as one. */
export const keyOf = (kind: Kind) => (kind === 'user_grades' ? 'name' : 'code');

/** If the answer is certainly about what this run made, keeps the id for the removal. */
function noteId(session: Session, made: Made, answer: Answer): void {
  const { body } = answer;
  if (isOwn(session, body) && typeof body.id === 'number') made.id = body.id;
  // A grade has no code by which it could be found: a refusal is believed.
  else if (made.kind === 'user_grades' && is.isRefusal(answer)) session.ledger.splice(session.ledger.indexOf(made), 1);
}

/** A wrong id in an answer must not lead to a record of the shop's. */
const isOwn = ({ prefix }: Session, row: unknown): row is is.Row =>
  is.isRow(row) && Object.values(row).some((value) => typeof value === 'string' && value.includes(prefix));

/** The created record, for a statement about something else than its creation. @throws CannotTell if there is none. */
export function createdBy(session: Session, answer: Answer): Record {
  if (is.isSuccess(answer) && !isOwn(session, answer.body))
    throw new is.CannotTell(
      `needs a record whose answer shows its code, so that no other is changed: ${answer.summary}`,
    );
  return addedBy(answer);
}

/** A sub-order that was added: it shows no code, but lies in an order of this run. */
export function addedBy(answer: Answer): Record {
  const { body } = answer;
  if (is.isSuccess(answer) && is.isRow(body) && typeof body.id === 'number') return { ...body, id: body.id };
  throw new is.CannotTell(`needs a record that could not be made: ${answer.summary}`);
}

/** The offset in which the service shows its times. */
async function offsetOf({ get, one }: Context): Promise<string> {
  const { body } = await get('/v1/reviews/overview');
  const at = Object(body).last_review_created_at ?? (await one('user_grades')).created_at;
  const [, offset] = /T[\d:.]+(Z|[+-]\d\d:?\d\d)$/.exec(String(at)) ?? [];
  return is.needed(offset === 'Z' ? '+00:00' : offset, 'needs a timestamp of the service that shows its offset');
}

/** The moment of `daysAgo` as a parameter takes it. */
export const isoOf =
  (days: number, time: string) =>
  async ({ daysAgo }: Context) =>
    (await daysAgo(days, time)).iso;

const orderParams = async (context: Context): Promise<Params> => ({
  created_at: await isoOf(1, '12:00:00')(context),
  total_price: 12_300,
  user_code: context.code('user'),
  user_name: context.code('user'),
});

export const productCodeOf = ({ settings, code }: Context) => settings.productCode ?? code('product');

const reviewParams = (context: Context): Params => ({
  product_code: productCodeOf(context),
  message: 'A conformance test. It will be removed.',
  score: 4,
  user_code: context.code('user'),
  user_name: 'Conformance',
});

/** What the spec calls a record. The code of the record that statements share ends with this noun. */
export const nouns = { orders: 'order', categories: 'category', user_grades: 'user grade', reviews: 'review' } as const;

/** The parameters of each record, and those that the shared record has beside them. */
const usual: { [K in Kind]: (at: Context) => Params | Promise<Params> } = {
  orders: orderParams,
  categories: () => ({ name: 'Conformance', status: 'hidden' }),
  // Shows whose grade it is if it is made without a name.
  user_grades: ({ prefix }) => ({ icon_url: `https://example.com/${prefix}.png` }),
  reviews: reviewParams,
};
const ofShared: { [K in Kind]?: (at: Context) => Params } = {
  // The address is reserved for examples, so that no mail can reach anybody.
  orders: () => ({ user_phone: '000-0000-0000', user_email: 'nobody@example.invalid' }),
  reviews: ({ code }) => ({ tag_name: code('tag'), 'product_options[]': ['Size:L', 'Colour:red'] }),
};

/** The service's id of the product; only a review of it tells. */
export async function productIdOf({ one }: Context): Promise<number> {
  const { product_id: id } = await one('reviews');
  if (typeof id === 'number') return id;
  throw new is.CannotTell('needs a product_id, and the review of the product shows none');
}

/** What a sub-order is made of; the product is the review's. */
export const subOrderParams = async (context: Context): Promise<Params> => ({
  product_id: await productIdOf(context),
  price: 12_300,
  status: 'delivery_finished',
  delivery_started_at: await isoOf(1, '13:00:00')(context),
  delivered_at: await isoOf(0, '00:00:00')(context),
  invoice: 'INV-1',
  delivery_service: 'Post',
  'product_options[]': ['Size:L', 'Colour:red'],
});

/** An order with sub-orders has no e-mail and no phone, so that no review request can go out for it. */
export const orderOfSubOrder = ({ fresh }: Context) => fresh('orders', 'order-of-sub-order');
/** The answer to adding a sub-order to this run's order; it goes with the order. */
export async function subOrderAnswer(context: Context): Promise<Answer> {
  const { id } = await context.shared(orderOfSubOrder);
  return context.call('POST', `/v1/orders/${id}/sub_orders`, { form: await subOrderParams(context) });
}
export const aSubOrder = async ({ shared }: Context) => addedBy(await shared(subOrderAnswer));

/** A sub-order as the detail of its order shows it. */
export async function readSubOrder({ read, shared }: Context, id: unknown): Promise<is.Row | undefined> {
  const { sub_orders: all } = await read('orders', (await shared(orderOfSubOrder)).id);
  return is.rowsIn(all).find((one) => one.id === id);
}

/** The record with the fewest nulls of the first hundred that are listed: it shows most. */
export async function fullestListed({ list }: Context, path: string): Promise<is.Row> {
  const nulls = (row: is.Row) => Object.values(row).filter((value) => value === null).length;
  const [first] = (await list(path, { limit: 100 })).toSorted((one, other) => nulls(one) - nulls(other));
  return is.needed(first, `the service lists nothing at ${path}`);
}

/** Whether the list under these parameters holds the record. */
export const holds = async ({ list }: Context, path: string, query: Params, { id }: is.Row): Promise<boolean> =>
  is.idsOf(await list(path, { limit: 100, ...query })).includes(id);

/** Whether reading it again gives no such record any more. */
export const isGone = async ({ get }: Context, path: string, id: unknown): Promise<void> =>
  is.isRefused(await get(`${path}/${id}`), 'that it is gone');

/** A record of this run, read by its id. */
export const detailOf =
  (kind: Kind) =>
  async ({ one, read }: Context): Promise<is.Row> =>
    read(kind, (await one(kind)).id);

/** One more than a review list has pages. */
export const manyCount = 31;
/** So many reviews of one account, a second apart, two days ago. */
export async function manyReviews({ code, daysAgo, fresh }: Context): Promise<(Record & { at: Moment })[]> {
  const all = [];
  for (let index = 0; index < manyCount; index += 1) {
    const at = await daysAgo(2, `12:00:${String(index).padStart(2, '0')}`);
    all.push({ ...(await fresh('reviews', `many-${index}`, { user_code: code('many'), created_at: at.iso })), at });
  }
  return all;
}

/** Why nothing can be told about images. */
export const noImage = 'the service stored no image: give one that it can load by --image-url';
