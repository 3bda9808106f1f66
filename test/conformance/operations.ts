import type { Params } from './http.ts';
import { codeOf, enter, keyOf } from './post.ts';
import { aSubOrder, orderOfSubOrder, subOrderParams } from './records.ts';
import type { Resource } from './resource.ts';
import { category } from './sections/categories.ts';
import { order } from './sections/order-writing.ts';
import { review } from './sections/review.ts';
import { userGrade } from './sections/user-grades.ts';
import type { Method, Session } from './session.ts';

/** An operation of the spec, with a path and parameters under which it would succeed, on records of this run. */
export type Operation = {
  name: string;
  method: Method;
  aim: (session: Session) => Promise<{ path: string; params: Params }>;
};

/** Of one resource: reading first, deleting last. */
function operationsOf({ kind, noun, headings, one, required, text }: Resource): Operation[] {
  const path = `/v1/${kind}`;
  const byId = (method: Method, params: Params): Operation => ({
    name: `${method} ${path}/:id`,
    method,
    aim: async (session) => ({ path: `${path}/${(await session.shared(one)).id}`, params }),
  });
  /** By the code that this run gave it, not by what an answer says. */
  const byCode = (method: Method, more: Params): Operation => ({
    name: `${method} ${path} with code`,
    method,
    aim: async (session) => {
      await session.shared(one);
      return { path, params: { code: codeOf(session, noun), ...more } };
    },
  });
  const change = { [text.sent]: 'Nobody' };
  return [
    { name: `GET ${path}`, method: 'GET', aim: async () => ({ path, params: {} }) },
    byId('GET', {}),
    ...(headings.getByCode ? [byCode('GET', {})] : []),
    {
      name: `POST ${path}`,
      method: 'POST',
      aim: async (session) => {
        const code = codeOf(session, 'without-token');
        // In case it makes one.
        enter(session, kind, code);
        return { path, params: { ...(await required(session)), [keyOf(kind)]: code } };
      },
    },
    byId('PATCH', change),
    ...(headings.updateByCode ? [byCode('PATCH', change)] : []),
    byId('DELETE', {}),
    ...(headings.updateByCode ? [byCode('DELETE', {})] : []),
  ];
}

const ofSubOrders = (method: Method, isOne: boolean, given: (session: Session) => Promise<Params>): Operation => ({
  name: `${method} /v1/orders/:order_id/sub_orders${isOne ? '/:sub_order_id' : ''}`,
  method,
  aim: async (session) => {
    const path = `/v1/orders/${(await session.shared(orderOfSubOrder)).id}/sub_orders`;
    const params = await given(session);
    return { path: isOne ? `${path}/${(await session.shared(aSubOrder)).id}` : path, params };
  },
});

const isDeletion = ({ method }: Operation) => method === 'DELETE';
const all: readonly Operation[] = [
  { name: 'GET /v1/reviews/overview', method: 'GET', aim: async () => ({ path: '/v1/reviews/overview', params: {} }) },
  ...[order, category, userGrade, review].flatMap(operationsOf),
  ofSubOrders('POST', false, subOrderParams),
  ofSubOrders('PUT', true, async () => ({ invoice: 'Nobody' })),
  ofSubOrders('DELETE', true, async () => ({})),
];

/** Deletions last. */
export const operations: readonly Operation[] = [...all.filter((one) => !isDeletion(one)), ...all.filter(isDeletion)];
