import * as records from '../records.ts';
import type { Resource } from '../resource.ts';
import type { Method, Params } from '../session.ts';
import * as is from '../statement.ts';
import { category, userGrade } from './catalog.ts';
import { order } from './orders.ts';
import { review } from './reviews.ts';

type Context = records.Context;
const says = is.inSection('Authentication');

/** Under these it would succeed with a token: on the record of this run, and with its code if the path has no id. */
const ofOne = ({ kind, text }: Resource, method: Method, route: string) =>
  needsToken(method, route, async ({ code, one }) => {
    const { id } = await one(kind);
    const params = method === 'PATCH' ? { [text.sent]: 'Nobody' } : {};
    if (route.endsWith('/:id')) return [`/v1/${kind}/${id}`, params];
    return [`/v1/${kind}`, method === 'GET' ? {} : { code: code(records.nouns[kind]), ...params }];
  });

/** The operation has no effect without a token. What it creates all the same is removed later. */
const needsToken = (
  method: Method,
  route: string,
  aim: (context: Context) => Promise<readonly [path: string, params: Params]>,
) =>
  says(`3: ${method} ${route} needs the access_token`, async (context) => {
    const [path, params] = await aim(context);
    const where = method === 'POST' || method === 'PATCH' ? 'form' : 'query';
    is.isRefused(await context.call(method, path, { [where]: params, token: 'none' }), 'a refusal');
  });

const resources = [order, category, userGrade, review];
const subOrders = '/v1/orders/:order_id/sub_orders';
const pathIn = async ({ shared }: Context) => `/v1/orders/${(await shared(records.orderOfSubOrder)).id}/sub_orders`;
const ofSubOrder = (params: Params) => async (context: Context) =>
  [`${await pathIn(context)}/${(await records.aSubOrder(context)).id}`, params] as const;

const fieldsOf = ({ settings }: Context) => ({
  grant_type: 'client_credentials',
  client_id: settings.clientId,
  client_secret: settings.clientSecret,
});
const hasToken = (body: unknown) => is.isRow(body) && typeof body.access_token === 'string' && body.access_token !== '';
async function isGivenNone({ requestToken }: Context, fields: Params): Promise<void> {
  const { status, body } = await requestToken(fields);
  is.ensure(!hasToken(body), `status ${status} with a token`, 'no token');
}

export const authentication: readonly is.Statement[] = [
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
    is.ensure(hasToken(body), `status ${status} without it`, 'access_token: string');
  }),
  needsToken('GET', '/v1/reviews/overview', async () => ['/v1/reviews/overview', {}]),
  ...resources.flatMap((one) => [
    ofOne(one, 'GET', `/v1/${one.kind}`),
    ofOne(one, 'GET', `/v1/${one.kind}/:id`),
    says(`3: POST /v1/${one.kind} needs the access_token`, async ({ make }) =>
      is.isRefused(await make(one.kind, 'without-token', {}, '', 'none'), 'a refusal'),
    ),
    ofOne(one, 'PATCH', `/v1/${one.kind}/:id`),
    ...is.where(one !== userGrade, ofOne(one, 'PATCH', `/v1/${one.kind} with code`)),
  ]),
  needsToken('POST', subOrders, async (context) => [await pathIn(context), await records.subOrderParams(context)]),
  needsToken('PUT', `${subOrders}/:sub_order_id`, ofSubOrder({ invoice: 'Nobody' })),
  // Deletions last.
  ...resources.flatMap((one) => [
    ofOne(one, 'DELETE', `/v1/${one.kind}/:id`),
    ...is.where(one !== userGrade, ofOne(one, 'DELETE', `/v1/${one.kind} with code`)),
  ]),
  needsToken('DELETE', `${subOrders}/:sub_order_id`, ofSubOrder({})),
  says('3: a token that was not given out is refused', async ({ call, code }) => {
    const query = { access_token: code('none') };
    is.isRefused(await call('GET', '/v1/user_grades', { query, token: 'none' }), 'a refusal');
  }),
];
