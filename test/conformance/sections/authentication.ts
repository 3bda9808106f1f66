import { ensure, isRow, isSuccess, rowOf } from '../expect.ts';
import { aSubOrder, codeOf, enter, keyOf, orderOfSubOrder, subOrderParams } from '../records.ts';
import type { Resource } from '../resource.ts';
import type { Method, Params, Session } from '../session.ts';
import { CannotTell, inSection, type Statement } from '../statement.ts';
import { category } from './categories.ts';
import { order } from './orders.ts';
import { review } from './review-writing.ts';
import { userGrade } from './user-grades.ts';

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

const says = inSection('Authentication');

const fieldsOf = ({ settings }: Session) => ({
  grant_type: 'client_credentials',
  client_id: settings.clientId,
  client_secret: settings.clientSecret,
});

const hasToken = (body: unknown) => isRow(body) && typeof body.access_token === 'string' && body.access_token !== '';

const tokens: Statement[] = [
  ...(['grant_type', 'client_id', 'client_secret'] as const).map((field) =>
    says(`1: no token is given without ${field}`, async (session) => {
      const { [field]: _, ...rest } = fieldsOf(session);
      const { status, body } = await session.requestToken(rest);
      ensure(!hasToken(body), `status ${status} with a token`, 'no token');
    }),
  ),
  says('1: no token is given for a wrong client_secret', async (session) => {
    const fields = { ...fieldsOf(session), client_secret: `${session.prefix}-wrong` };
    const { status, body } = await session.requestToken(fields);
    ensure(!hasToken(body), `status ${status} with a token`, 'no token');
  }),
  says('1 and 2: grant_type, client_id and client_secret as form fields give access_token in JSON', async (session) => {
    const { status, body } = await session.requestToken(fieldsOf(session));
    // Not shown in the report: it is good for everything.
    ensure(hasToken(body), `status ${status} without it`, 'access_token: string');
  }),
];

const presented: Statement[] = [
  ...operations.map(({ name, method, aim }) =>
    says(`3: ${name} needs the access_token`, async (session) => {
      const { path, params } = await aim(session);
      const isForm = method === 'POST' || method === 'PATCH';
      const answer = await session.call(method, path, {
        ...(isForm ? { form: params } : { query: params }),
        token: 'none',
      });
      ensure(!isSuccess(answer), answer.told, 'a refusal');
    }),
  ),
  says('3: a token that was not given out is refused', async (session) => {
    const query = { access_token: `${session.prefix}-none` };
    const answer = await session.call('GET', '/v1/user_grades', { query, token: 'none' });
    ensure(!isSuccess(answer), answer.told, 'a refusal');
  }),
];

const partner: Statement[] = [
  says('4: a partner account’s API user may not delete review data of others', async (session) => {
    const { foreignReviewId: id } = session.settings;
    if (id === undefined)
      throw new CannotTell('needs a partner account and --foreign-review <id>, which is lost if it may');
    const answer = await session.call('DELETE', `/v1/reviews/${id}`);
    ensure(!isSuccess(answer), answer.told, 'a refusal');
    rowOf(await session.call('GET', `/v1/reviews/${id}`));
  }),
];

export const authentication: readonly Statement[] = [...tokens, ...presented, ...partner];
