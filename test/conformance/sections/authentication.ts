import { aSubOrder, type Context, enter, keyOf, nouns, orderOfSubOrder, subOrderParams } from '../records.ts';
import type { Resource } from '../resource.ts';
import type { Method, Params } from '../session.ts';
import { ensure, inSection, isRefused, isRow, type Statement } from '../statement.ts';
import { category, userGrade } from './catalog.ts';
import { order } from './orders.ts';
import { review } from './reviews.ts';

/** An operation of the spec, with a path and parameters under which it would succeed, on records of this run. */
type Operation = [method: Method, route: string, aim: (context: Context) => Promise<[path: string, params: Params]>];

/** The operations of one resource. They use the code that this run gave it, unless they need the id from an answer. */
function operationsOf({ kind, headings, required, text }: Resource): Operation[] {
  const path = `/v1/${kind}`;
  const change = { [text.sent]: 'Nobody' };
  const ofOne =
    (params: Params): Operation[2] =>
    async ({ one }) => [`${path}/${(await one(kind)).id}`, params];
  const withCode =
    (more: Params): Operation[2] =>
    async ({ code, one }) => {
      await one(kind);
      return [path, { code: code(nouns[kind]), ...more }];
    };
  const creation: Operation[2] = async (context) => {
    const code = context.code('without-token');
    // In case it creates something.
    enter(context, kind, code);
    return [path, { ...(await required(context)), [keyOf(kind)]: code }];
  };
  const byCode: Operation[] = [
    ['PATCH', `${path} with code`, withCode(change)],
    ['DELETE', `${path} with code`, withCode({})],
  ];
  return [
    ['GET', path, async () => [path, {}]],
    ['GET', `${path}/:id`, ofOne({})],
    ['POST', path, creation],
    ['PATCH', `${path}/:id`, ofOne(change)],
    ['DELETE', `${path}/:id`, ofOne({})],
    ...(headings.updateByCode ? byCode : []),
  ];
}

const subOrders = '/v1/orders/:order_id/sub_orders';
const ofSubOrder =
  (params: Params): Operation[2] =>
  async (context) => {
    const { id } = await context.shared(orderOfSubOrder);
    return [`/v1/orders/${id}/sub_orders/${(await aSubOrder(context)).id}`, params];
  };

const all: Operation[] = [
  ['GET', '/v1/reviews/overview', async () => ['/v1/reviews/overview', {}]],
  ...[order, category, userGrade, review].flatMap(operationsOf),
  [
    'POST',
    subOrders,
    async (context) => {
      const { id } = await context.shared(orderOfSubOrder);
      return [`/v1/orders/${id}/sub_orders`, await subOrderParams(context)];
    },
  ],
  ['PUT', `${subOrders}/:sub_order_id`, ofSubOrder({ invoice: 'Nobody' })],
  ['DELETE', `${subOrders}/:sub_order_id`, ofSubOrder({})],
];
/** Deletions last. */
const operations = all.toSorted(([one], [other]) => Number(one === 'DELETE') - Number(other === 'DELETE'));

const says = inSection('Authentication');
const fieldsOf = ({ settings }: Context) => ({
  grant_type: 'client_credentials',
  client_id: settings.clientId,
  client_secret: settings.clientSecret,
});
const hasToken = (body: unknown) => isRow(body) && typeof body.access_token === 'string' && body.access_token !== '';
async function isGivenNone({ requestToken }: Context, fields: Params): Promise<void> {
  const { status, body } = await requestToken(fields);
  ensure(!hasToken(body), `status ${status} with a token`, 'no token');
}

export const authentication: readonly Statement[] = [
  ...(['grant_type', 'client_id', 'client_secret'] as const).map((field) =>
    says(`1: no token is given without ${field}`, async (context) => {
      const { [field]: _, ...rest } = fieldsOf(context);
      await isGivenNone(context, rest);
    }),
  ),
  says('1: no token is given for a wrong client_secret', async (context) =>
    isGivenNone(context, { ...fieldsOf(context), client_secret: context.code('wrong') }),
  ),
  says('1 and 2: grant_type, client_id and client_secret as form fields give access_token in JSON', async (context) => {
    const { status, body } = await context.requestToken(fieldsOf(context));
    // Not shown in the report: this token opens everything.
    ensure(hasToken(body), `status ${status} without it`, 'access_token: string');
  }),
  ...operations.map(([method, route, aim]) =>
    says(`3: ${method} ${route} needs the access_token`, async (context) => {
      const [path, params] = await aim(context);
      const where = method === 'POST' || method === 'PATCH' ? 'form' : 'query';
      isRefused(await context.call(method, path, { [where]: params, token: 'none' }), 'a refusal');
    }),
  ),
  says('3: a token that was not given out is refused', async ({ call, code }) => {
    const query = { access_token: code('none') };
    isRefused(await call('GET', '/v1/user_grades', { query, token: 'none' }), 'a refusal');
  }),
];
