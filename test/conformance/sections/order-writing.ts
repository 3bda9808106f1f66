import { clockOf } from '../clock.ts';
import { ensure, isSame, isSuccess, rowOf, show, succeeds } from '../expect.ts';
import { isAmount, type Parameter, sameSecond } from '../parameters.ts';
import { addedBy, codeOf, post, userOf } from '../post.ts';
import { aGrade, anOrder, freshOrder, orderAnswer, orderParams, subOrderParams } from '../records.ts';
import { type Resource, resourceStatements, shapesOf } from '../resource.ts';
import type { Session } from '../session.ts';
import { inSection, type Statement } from '../statement.ts';
import { orderTables } from './order-reading.ts';

const path = '/v1/orders';

const optional: readonly Parameter[] = [
  {
    name: 'created_at',
    value: async (session) => (await clockOf(session)).daysAgo(2, '01:02:03').iso,
    shownAs: 'created_at',
    as: sameSecond,
  },
  { name: 'total_price', value: 45_600, shownAs: 'total_price', as: isAmount },
  { name: 'user_code', value: async (session) => codeOf(session, 'buyer'), shownAs: 'user_code' },
  { name: 'user_name', value: 'Kim', shownAs: 'username' },
  { name: 'user_phone', value: '000-0000-0001', shownAs: 'phone' },
  { name: 'user_email', value: 'nobody@example.invalid', shownAs: 'user_email' },
  { name: 'user_grade_id', value: async (session) => (await session.shared(aGrade)).id },
  { name: 'store_name', value: 'Main street', note: 'an offline store order' },
  { name: 'order_device', value: 'pc', note: '`pc`' },
  { name: 'order_device', value: 'mobile', note: '`mobile`' },
  { name: 'mileage', value: 100, note: 'points used' },
];

const creates = inSection('Endpoints, Orders, Create or update an order');

export const order: Resource = {
  kind: 'orders',
  noun: 'order',
  called: 'an order',
  under: 'Endpoints, Orders',
  headings: {
    list: 'List orders',
    get: 'Get order by id',
    create: 'Create or update an order',
    update: 'Update an order by id',
    updateByCode: 'Update an order by code',
    delete: 'Delete an order',
  },
  tables: orderTables,
  answer: orderAnswer,
  one: anOrder,
  fresh: freshOrder,
  required: orderParams,
  refusedWithout: ['code', 'created_at', 'total_price'],
  parameters: { create: optional, update: optional, updateByCode: optional },
  text: { sent: 'user_name', shownAs: 'username' },
  ofThisRun: (session) => ({ usernames: userOf(session) }),
  mayChangeCode: true,
};

/** Only what the spec requires. */
const bareAnswer = async (session: Session) => {
  const { created_at = '', total_price = 0 } = await orderParams(session);
  return post(session, 'orders', 'order-bare', { created_at, total_price });
};

const creation: Statement[] = [
  creates('code, created_at and total_price alone make an order', async (session) => {
    succeeds(await session.shared(bareAnswer));
  }),
  creates('without user_code the order is registered as a non-member order', async (session) => {
    const { user_code: user } = rowOf(await session.shared(bareAnswer));
    ensure(user === undefined || user === null || user === '', `user_code ${user}`, 'none');
  }),
  creates('code: order number, shown as it was sent', async (session) =>
    isSame('code', rowOf(await session.shared(orderAnswer)).code, codeOf(session, 'order')),
  ),
];

const others: Statement[] = [
  inSection('Resources, Order (detail)')(
    'input total_price is a float, output total_price a money object',
    async (session) => {
      const made = await freshOrder(session, 'with-a-float', { total_price: 12_300.5 });
      ensure(
        isAmount(made.total_price, 12_300.5),
        `total_price ${show(made.total_price)}`,
        'a money object of 12300.5',
      );
    },
  ),
  inSection('Endpoints, Orders, Update an order by id')('none of the parameters is required', async (session) => {
    const { id } = await freshOrder(session, 'unchanged');
    succeeds(await session.call('PATCH', `${path}/${id}`, { form: {} }));
  }),
];

const deletes = inSection('Endpoints, Orders, Delete an order');

const deletions: Statement[] = [
  deletes('it also deletes the order’s sub-orders', async (session) => {
    const { id } = await freshOrder(session, 'order-deleted-with-sub-order');
    const form = await subOrderParams(session);
    const { id: subId } = addedBy(await session.call('POST', `${path}/${id}/sub_orders`, { form }));
    succeeds(await session.call('DELETE', `${path}/${id}`));
    const query = { invoice: 'INV-2' };
    const answer = await session.call('PUT', `${path}/${id}/sub_orders/${subId}`, { query });
    ensure(!isSuccess(answer), answer.told, 'that the sub-order is gone');
  }),
];

export const orderWriting: readonly Statement[] = [
  ...shapesOf(order),
  ...resourceStatements(order),
  ...others,
  ...creation,
  ...deletions,
];
