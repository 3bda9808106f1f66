import type { Params } from './http.ts';
import { codeOf, enter } from './post.ts';
import {
  aCategory,
  aGrade,
  anOrder,
  aReview,
  aSubOrder,
  orderOfSubOrder,
  orderParams,
  reviewParams,
  subOrderParams,
} from './records.ts';
import type { Method, Session } from './session.ts';

/** An operation of the spec, with a path and parameters under which it would succeed, on records of this run. */
export type Operation = {
  name: string;
  method: Method;
  aim: (session: Session) => Promise<{ path: string; params: Params }>;
};

type Sample = (session: Session) => Promise<{ id: number }>;
type Given = (session: Session) => Promise<Params>;

const noParams: Given = async () => ({});

const on = (method: Method, path: string, given: Given = noParams): Operation => ({
  name: `${method} ${path}`,
  method,
  aim: async (session) => ({ path, params: await given(session) }),
});

const byId = (method: Method, path: string, sample: Sample, given: Given = noParams): Operation => ({
  name: `${method} ${path}/:id`,
  method,
  aim: async (session) => ({
    path: `${path}/${(await session.shared(sample)).id}`,
    params: await given(session),
  }),
});

/** By the code that this run gave it, not by what an answer says. */
const byCode = (method: Method, path: string, sample: Sample, given: { named: string; more?: Params }): Operation => ({
  name: `${method} ${path} with code`,
  method,
  aim: async (session) => {
    await session.shared(sample);
    return { path, params: { code: codeOf(session, given.named), ...given.more } };
  },
});

/** What a POST would create; entered, in case it does. */
const fresh = (kind: 'orders' | 'categories' | 'user_grades' | 'reviews', given: Given): Given =>
  async function entered(session) {
    const code = codeOf(session, `without-token-${kind}`);
    enter(session, kind, code);
    return { ...(await given(session)), ...(kind === 'user_grades' ? { name: code } : { code }) };
  };

const subOrder = (method: Method, isOne: boolean, given: Given = noParams): Operation => ({
  name: `${method} /v1/orders/:order_id/sub_orders${isOne ? '/:sub_order_id' : ''}`,
  method,
  aim: async (session) => {
    const path = `/v1/orders/${(await session.shared(orderOfSubOrder)).id}/sub_orders`;
    const params = await given(session);
    return { path: isOne ? `${path}/${(await session.shared(aSubOrder)).id}` : path, params };
  },
});

const changed = (params: Params) => async () => params;

/** Reading first, deleting last. */
export const operations: readonly Operation[] = [
  on('GET', '/v1/orders'),
  on('GET', '/v1/categories'),
  on('GET', '/v1/user_grades'),
  on('GET', '/v1/reviews'),
  on('GET', '/v1/reviews/overview'),
  byId('GET', '/v1/orders', anOrder),
  byId('GET', '/v1/categories', aCategory),
  byCode('GET', '/v1/categories', aCategory, { named: 'category' }),
  byId('GET', '/v1/user_grades', aGrade),
  byId('GET', '/v1/reviews', aReview),
  byCode('GET', '/v1/reviews', aReview, { named: 'review' }),
  on('POST', '/v1/orders', fresh('orders', orderParams)),
  on('POST', '/v1/categories', fresh('categories', changed({ status: 'hidden' }))),
  on('POST', '/v1/user_grades', fresh('user_grades', noParams)),
  on(
    'POST',
    '/v1/reviews',
    fresh('reviews', async (session) => reviewParams(session)),
  ),
  subOrder('POST', false, subOrderParams),
  byId('PATCH', '/v1/orders', anOrder, changed({ user_name: 'Nobody' })),
  byCode('PATCH', '/v1/orders', anOrder, { named: 'order', more: { user_name: 'Nobody' } }),
  byId('PATCH', '/v1/categories', aCategory, changed({ name: 'Nobody' })),
  byCode('PATCH', '/v1/categories', aCategory, { named: 'category', more: { name: 'Nobody' } }),
  byId('PATCH', '/v1/user_grades', aGrade, changed({ name: 'Nobody' })),
  byId('PATCH', '/v1/reviews', aReview, changed({ message: 'Nobody' })),
  byCode('PATCH', '/v1/reviews', aReview, { named: 'review', more: { message: 'Nobody' } }),
  subOrder('PUT', true, changed({ invoice: 'Nobody' })),
  subOrder('DELETE', true),
  byId('DELETE', '/v1/reviews', aReview),
  byCode('DELETE', '/v1/reviews', aReview, { named: 'review' }),
  byId('DELETE', '/v1/orders', anOrder),
  byCode('DELETE', '/v1/orders', anOrder, { named: 'order' }),
  byId('DELETE', '/v1/categories', aCategory),
  byCode('DELETE', '/v1/categories', aCategory, { named: 'category' }),
  byId('DELETE', '/v1/user_grades', aGrade),
];
