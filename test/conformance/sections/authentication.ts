import { ensure, isRow, isSuccess } from '../expect.ts';
import { aSubOrder, codeOf, enter, keyOf, orderOfSubOrder, records, subOrderParams } from '../records.ts';
import type { Resource } from '../resource.ts';
import type { Method, Params, Session } from '../session.ts';
import { inSection, type Statement } from '../statement.ts';
import { category } from './categories.ts';
import { order } from './orders.ts';
import { review } from './review-writing.ts';
import { userGrade } from './user-grades.ts';

type Sent = { path: string; params: Params };
/** An operation of the spec, with a path and parameters under which it would succeed, on records of this run. */
type Operation = [method: Method, route: string, aim: (session: Session) => Promise<Sent>];

/** Of one resource, by the code that this run gave it where an answer's id is not needed. */
function operationsOf({ kind, noun, headings, required, text }: Resource): Operation[] {
  const path = `/v1/${kind}`;
  const change = { [text.sent]: 'Nobody' };
  const ofOne = (params: Params) => async (session: Session) => ({
    ...{ path: `${path}/${(await records[kind].one(session)).id}`, params },
  });
  const withCode = (more: Params) => async (session: Session) => {
    await records[kind].one(session);
    return { path, params: { code: codeOf(session, noun), ...more } };
  };
  const creation = async (session: Session) => {
    const code = codeOf(session, 'without-token');
    // In case it makes one.
    enter(session, kind, code);
    return { path, params: { ...(await required(session)), [keyOf(kind)]: code } };
  };
  const byCode: Operation[] = [
    ['PATCH', `${path} with code`, withCode(change)],
    ['DELETE', `${path} with code`, withCode({})],
  ];
  return [
    ['GET', path, async () => ({ path, params: {} })],
    ['GET', `${path}/:id`, ofOne({})],
    ['POST', path, creation],
    ['PATCH', `${path}/:id`, ofOne(change)],
    ['DELETE', `${path}/:id`, ofOne({})],
    ...(headings.updateByCode ? byCode : []),
  ];
}

const subOrders = '/v1/orders/:order_id/sub_orders';
const ofSubOrder = (isOne: boolean, params: (session: Session) => Promise<Params>) => async (session: Session) => {
  const path = `/v1/orders/${(await orderOfSubOrder(session)).id}/sub_orders`;
  const given = await params(session);
  return { path: isOne ? `${path}/${(await aSubOrder(session)).id}` : path, params: given };
};

const all: Operation[] = [
  ['GET', '/v1/reviews/overview', async () => ({ path: '/v1/reviews/overview', params: {} })],
  ...[order, category, userGrade, review].flatMap(operationsOf),
  ['POST', subOrders, ofSubOrder(false, subOrderParams)],
  ['PUT', `${subOrders}/:sub_order_id`, ofSubOrder(true, async () => ({ invoice: 'Nobody' }))],
  ['DELETE', `${subOrders}/:sub_order_id`, ofSubOrder(true, async () => ({}))],
];
/** Deletions last. */
const operations = all.toSorted(([one], [other]) => Number(one === 'DELETE') - Number(other === 'DELETE'));

const says = inSection('Authentication');

const fieldsOf = ({ settings }: Session) => ({
  grant_type: 'client_credentials',
  client_id: settings.clientId,
  client_secret: settings.clientSecret,
});

const hasToken = (body: unknown) => isRow(body) && typeof body.access_token === 'string' && body.access_token !== '';

export const authentication: readonly Statement[] = [
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
  ...operations.map(([method, route, aim]) =>
    says(`3: ${method} ${route} needs the access_token`, async (session) => {
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
