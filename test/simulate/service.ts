import type { Request, Response } from './network.ts';
import type { Process } from './scheduler.ts';

/** A sub-order as the service keeps it. `by`: the process that created it; undefined: another integration. */
export type SubOrder = {
  id: number;
  productId: number;
  price: string;
  options: Record<string, string>;
  status: string;
  invoice: string | null;
  reviews: number;
  /** When the last of them was written. */
  reviewedMs: number;
  by: string | undefined;
  createdMs: number;
};

/** The fields of an order, by the parameters that write them. */
const fields = ['created_at', 'total_price', 'user_code', 'user_email', 'user_phone'] as const;
const noFields = { created_at: '', total_price: '', user_code: '', user_email: '', user_phone: '' };

export type Order = typeof noFields & { id: number; code: string; madeMs: number; subOrders: Map<number, SubOrder> };

export type Review = {
  id: number;
  productId: number;
  score: number | null;
  message: string;
  createdMs: number;
  updatedMs: number;
  /** Only from then on the lists show it. */
  listedFromMs: number;
  comments: number;
};

/** What reached the service, in order: for the oracle. */
export type Entry = { atMs: number; process: Process | undefined; request: Request | undefined; code: string } & (
  | { kind: 'contact'; field: 'email' | 'phone'; value: string; orderedAt: string; isNews: boolean }
  | { kind: 'order'; isNew: boolean }
  | { kind: 'created'; subOrder: SubOrder }
  /** As it was before the request. */
  | { kind: 'changed'; subOrder: SubOrder }
  | { kind: 'removed'; subOrder: SubOrder; alike: number }
  | { kind: 'deleted'; order: Order }
);

type Unnoted<T> = T extends unknown ? Omit<T, 'atMs'> : never;

/** How this service reads the interface if the interface leaves something open. */
export type ServiceHabits = {
  /** `cents` are hundredths, or whole units. */
  money: 100 | 1;
  /** Records on a page at most. */
  pageSize: number;
  /** Whether a page names the number of the last one. */
  link: 'always' | 'not on the last';
  /** How an empty value of an order's field is taken. */
  emptyValues: 'clear' | 'ignored' | 'refused';
  /** Codes of orders that it refuses, and of orders on which it fails. */
  refusedOrders: ReadonlySet<string>;
  failingOrders: ReadonlySet<string>;
  failingStatus: number;
  /** Products whose lines it refuses. */
  refusedProducts: ReadonlySet<number>;
  /** How long a token is accepted. */
  tokenLifeMs: number;
};

const failure: Response = { status: 500, body: { error: 'it fails' } };
const refused = (error: string): Response => ({ status: 422, body: { error } });

export type Service = ReturnType<typeof createService>;

/** The service after docs/interface.md, in memory. Shares no code with the client or the reference service. */
export function createService(habits: ServiceHabits, now: () => number) {
  const orders = new Map<number, Order>();
  const reviews = new Map<number, Review>();
  const ledger: Entry[] = [];
  const note = (entry: Unnoted<Entry>) => void ledger.push({ atMs: now(), ...entry } as Entry);
  const tokens = new Map<string, number>();
  let ids = 1000;
  const counts = { requests: 0, writes: 0 };
  /** Reviews on which it always fails, in a list and by their ids. */
  const failingReviews = new Set<number>();
  const nextId = () => {
    ids += 1;
    return ids;
  };
  const orderOf = (code: string) => [...orders.values()].find((one) => one.code === code);

  const money = (amount: string) => ({ cents: Math.round(Number(amount) * habits.money), currency_iso: 'KRW' });
  const time = (ms: number) => new Date(ms + zoneMs).toISOString().replace('Z', '+09:00');
  const shownSubOrder = (one: SubOrder) => ({
    id: one.id,
    product_id: one.productId,
    product_options: one.options,
    price: money(one.price),
    status: one.status,
    invoice: one.invoice,
    created_at: time(one.createdMs),
    updated_at: time(one.createdMs),
    reviews_count: one.reviews,
  });
  const shownOrder = (one: Order) => ({
    id: one.id,
    code: one.code,
    user_code: one.user_code,
    user_email: one.user_email,
    username: '',
    phone: one.user_phone,
    total_price: money(one.total_price),
    sub_orders: [...one.subOrders.values()].map(shownSubOrder),
    created_at: time(Math.floor(Date.parse(one.created_at) / 1000) * 1000),
    updated_at: time(one.madeMs),
  });

  function write(form: URLSearchParams, process: Process | undefined, request?: Request): Response {
    const code = form.get('code') ?? '';
    if (code === '' || !form.get('created_at') || !form.get('total_price')) return refused('missing');
    if (habits.refusedOrders.has(code)) return refused('the order is refused');
    if (habits.failingOrders.has(code)) return { ...failure, status: habits.failingStatus };
    const emptied = fields.find((name) => form.get(name) === '');
    if (habits.emptyValues === 'refused' && emptied) return refused(`${emptied} is empty`);
    const known = orderOf(code);
    const order: Order = known ?? { id: nextId(), code, ...noFields, madeMs: now(), subOrders: new Map() };
    const before = { ...order };
    for (const name of fields) {
      const value = form.get(name);
      if (value !== null && (value !== '' || habits.emptyValues !== 'ignored')) order[name] = value;
    }
    orders.set(order.id, order);
    note({ kind: 'order', process, request, code, isNew: !known });
    for (const field of ['email', 'phone'] as const) {
      const sent = form.get(`user_${field}`);
      if (!sent) continue;
      const isNews = before[`user_${field}`] !== sent;
      note({ kind: 'contact', process, request, code, field, value: sent, orderedAt: order.created_at, isNews });
    }
    return { status: 201, headers: { location: '/v1/orders' }, body: shownOrder(order) };
  }

  function change(one: SubOrder, given: URLSearchParams): void {
    const text = (name: string, before: string) => given.get(name) ?? before;
    one.productId = given.has('product_id') ? Number(given.get('product_id')) : one.productId;
    one.price = text('price', one.price);
    one.status = text('status', one.status);
    if (given.has('invoice')) one.invoice = given.get('invoice') || null;
    const pairs = given.getAll('product_options[]').filter((pair) => pair !== '');
    if (given.has('product_options[]')) one.options = Object.fromEntries(pairs.map((pair) => pair.split(':')));
  }

  function addSubOrder(order: Order, given: URLSearchParams, by: string | undefined): SubOrder {
    const empty = { productId: 0, price: '0', options: {}, status: 'paid', invoice: null };
    const one: SubOrder = { id: nextId(), ...empty, createdMs: now(), reviewedMs: 0, reviews: 0, by };
    change(one, given);
    order.subOrders.set(one.id, one);
    return one;
  }

  function ofOrders(request: Request, process: Process | undefined): Response {
    const { method, path, query, form } = request;
    const [, , , orderId, , subOrderId] = path.split('/');
    if (orderId === undefined) {
      if (method === 'POST') return write(form, process, request);
      const code = query.get('code');
      const found = code === null ? undefined : orderOf(code);
      if (code === null) return { status: 200, body: [] };
      return found ? { status: 200, body: shownOrder(found) } : notFound;
    }
    const order = orders.get(Number(orderId));
    if (!order) return notFound;
    if (!path.includes('/sub_orders')) {
      if (method === 'GET') return { status: 200, body: shownOrder(order) };
      orders.delete(order.id);
      note({ kind: 'deleted', process, request, code: order.code, order });
      return { status: 204 };
    }
    const given = method === 'PUT' ? query : form;
    if (habits.refusedProducts.has(Number(given.get('product_id')))) return refused('no such product');
    if (subOrderId === undefined) {
      const made = addSubOrder(order, given, process?.name ?? 'somebody');
      note({ kind: 'created', process, request, code: order.code, subOrder: made });
      return { status: 201, body: { id: made.id } };
    }
    const one = order.subOrders.get(Number(subOrderId));
    if (!one) return notFound;
    if (method === 'PUT') {
      note({ kind: 'changed', process, request, code: order.code, subOrder: { ...one } });
      change(one, query);
      return { status: 204 };
    }
    order.subOrders.delete(one.id);
    const alike = [...order.subOrders.values()].filter((other) => contentKey(other) === contentKey(one)).length;
    note({ kind: 'removed', process, request, code: order.code, subOrder: one, alike });
    return { status: 204 };
  }

  const shownReview = (one: Review, isList: boolean) => ({
    id: one.id,
    code: null,
    display: true,
    user_code: 'member',
    message: one.message,
    score: one.score,
    created_at: time(one.createdMs),
    updated_at: time(one.updatedMs),
    product_id: one.productId,
    product_code: `P${one.productId}`,
    likes_count: one.id % 7,
    ...(isList
      ? { comments_count: one.comments }
      : { comments: Array.from({ length: one.comments }, (_, n) => ({ id: n })) }),
  });

  function listReviews(query: URLSearchParams): Response {
    const [start, end] = [query.get('start_datetime'), query.get('end_datetime')].map((text) =>
      text === null ? Number.NaN : Date.parse(`${text.replace(' ', 'T')}Z`) - zoneMs,
    ) as [number, number];
    if (!(end - start <= 45 * 86_400_000)) return refused('period');
    const byUpdate = query.get('date_updated_at') === '1';
    const dateOf = (one: Review) => Math.floor((byUpdate ? one.updatedMs : one.createdMs) / 1000) * 1000;
    const page = Number(query.get('page') ?? 1);
    const limit = Math.min(Number(query.get('limit') ?? 30), habits.pageSize);
    const [score, product] = [query.get('score'), query.get('product_id')];
    const found = [...reviews.values()]
      .filter((one) => dateOf(one) >= start && dateOf(one) <= end && one.listedFromMs <= now())
      .filter((one) => score === null || (one.score ?? 0) === Number(score))
      .filter((one) => product === null || one.productId === Number(product))
      .sort((a, b) => dateOf(a) - dateOf(b) || a.id - b.id);
    if (query.get('date_order_desc') === '1') found.reverse();
    const last = Math.min(30, Math.max(1, Math.ceil(found.length / limit)));
    if (page > 30 || page < 1) return refused('page');
    const shown = found.slice((page - 1) * limit, page * limit);
    if (shown.some(({ id }) => failingReviews.has(id))) return failure;
    const isNamed = habits.link === 'always' || page < last;
    const at = (number: number) => `<https://service.test/v1/reviews?page=${number}>`;
    const link = `${at(last)}; rel="last", ${at(Math.min(page + 1, last))}; rel="next"`;
    return { status: 200, headers: isNamed ? { link } : {}, body: shown.map((one) => shownReview(one, true)) };
  }

  function ofReviews({ path, query }: Request): Response {
    const id = path.split('/')[3];
    if (id === 'overview') {
      const dates = [...reviews.values()].map((one) => one.createdMs);
      const bound = (ms: number) => (dates.length === 0 ? null : time(ms));
      const [first, last] = [bound(Math.min(...dates)), bound(Math.max(...dates))];
      return { status: 200, body: { first_review_created_at: first, last_review_created_at: last } };
    }
    if (id === undefined) return listReviews(query);
    const found = reviews.get(Number(id));
    if (found && failingReviews.has(found.id)) return failure;
    return found ? { status: 200, body: shownReview(found, false) } : notFound;
  }

  return {
    orders,
    reviews,
    failingReviews,
    ledger,
    counts,
    nextId,
    orderOf,
    habits,
    /** Another integration, or a customer, does something. */
    addSubOrder,
    writeAsOther: (form: URLSearchParams) => write(form, undefined),
    serve(process: Process | undefined, request: Request): Response {
      counts.requests += 1;
      const { method, path } = request;
      if (path === '/oauth/token') {
        const token = `token-${nextId()}`;
        tokens.set(token, now() + habits.tokenLifeMs);
        return { status: 200, body: { access_token: token } };
      }
      const token = request.form.get('access_token') ?? request.query.get('access_token') ?? '';
      if ((tokens.get(token) ?? 0) <= now()) return { status: 401, body: { error: 'the token has expired' } };
      if (method !== 'GET') counts.writes += 1;
      if (path.startsWith('/v1/orders')) return ofOrders(request, process);
      if (path.startsWith('/v1/reviews')) return ofReviews(request);
      return notFound;
    },
  };
}

const contentKey = ({ productId, price, options, status, invoice }: SubOrder) =>
  JSON.stringify([productId, Number(price), Object.entries(options).sort(), status, invoice ?? '']);

const notFound: Response = { status: 404, body: { error: 'not found' } };
/** The service reads and writes dates in Seoul. */
const zoneMs = 9 * 3_600_000;
