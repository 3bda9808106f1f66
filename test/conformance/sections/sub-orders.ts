import { ensure, isRow, isSame, type Row, show, succeeds } from '../expect.ts';
import {
  addedBy,
  aSubOrder,
  isoOf,
  orderOfSubOrder,
  productIdOf,
  readSubOrder,
  records,
  subOrderAnswer,
} from '../records.ts';
import { type Answer, once, type Params, type Session } from '../session.ts';
import { Differs, inSection, type Statement } from '../statement.ts';
import {
  type FieldTable,
  fieldStatements,
  isAmount,
  isPairs,
  type Parameter,
  parameterStatements,
  sameSecond,
} from '../tables.ts';

const fields: FieldTable = [
  ['integer', 'id product_id reviews_count'],
  ['object, string to string', 'product_options'],
  ['money object', 'price'],
  ['string', 'status delivery_service'],
  ['datetime or null', 'delivery_started_at delivered_at'],
  ['string or null', 'invoice'],
  ['datetime', 'created_at updated_at'],
];

/** This run's sub-order in its order's detail. */
const sample = once(async (session) => {
  const { id } = await aSubOrder(session);
  const found = await readSubOrder(session, (await orderOfSubOrder(session)).id, id);
  if (found) return found;
  throw new Differs('an order without the sub-order that was added', 'that sub-order');
});

const parameters: readonly Parameter[] = [
  { name: 'product_id', value: productIdOf, shownAs: 'product_id' },
  { name: 'price', value: 7800, shownAs: 'price', as: isAmount },
  { name: 'delivery_started_at', value: isoOf(1, '09:10:11'), shownAs: 'delivery_started_at', as: sameSecond },
  { name: 'delivered_at', value: isoOf(1, '10:11:12'), shownAs: 'delivered_at', as: sameSecond },
  { name: 'status', value: 'paid', shownAs: 'status', note: '`paid`' },
  { name: 'status', value: 'delivery_started', shownAs: 'status', note: '`delivery_started`' },
  { name: 'status', value: 'delivery_finished', shownAs: 'status', note: '`delivery_finished`' },
  { name: 'invoice', value: 'INV-7', shownAs: 'invoice' },
  { name: 'delivery_service', value: 'Courier', shownAs: 'delivery_service' },
  { name: 'product_options[]', value: ['Size:M', 'Colour:blue'], shownAs: 'product_options', as: isPairs },
];

const home = once((session) => records.orders.fresh(session, 'order-of-sub-orders'));
const pathIn = async (session: Session) => `/v1/orders/${(await home(session)).id}/sub_orders`;

async function add(session: Session, params: Params): Promise<Answer> {
  const form = { product_id: await productIdOf(session), price: 12_300, ...params };
  return session.call('POST', await pathIn(session), { form });
}

const toChange = once(async (session) => addedBy(await add(session, { status: 'paid' })));

async function read(session: Session, id: unknown): Promise<Row> {
  const found = await readSubOrder(session, (await home(session)).id, id);
  if (found) return found;
  throw new Differs(`an order without its sub-order ${id}`, 'that sub-order');
}

const says = inSection('Endpoints, Sub-orders');

export const subOrders: readonly Statement[] = [
  ...fieldStatements('Resources, Sub-order (inside order detail)', 'a sub-order', fields, sample),
  says('POST /v1/orders/:order_id/sub_orders adds a sub-order', async (session) => {
    succeeds(await subOrderAnswer(session));
    await sample(session);
  }),
  says('the create response carries the new sub-order’s id', async (session) => {
    const { body } = await subOrderAnswer(session);
    ensure(isRow(body) && Number.isInteger(body.id), show(body), 'an integer id');
  }),
  ...parameterStatements(says, {
    operation: 'POST sub_orders',
    parameters,
    write: (session, _name, params) => add(session, params),
    read: (session, answer) => read(session, addedBy(answer).id),
  }),
  ...parameterStatements(says, {
    operation: 'PUT sub_orders/:sub_order_id',
    parameters,
    write: async (session, _name, query) => {
      const { id } = await toChange(session);
      return session.call('PUT', `${await pathIn(session)}/${id}`, { query });
    },
    read: async (session) => read(session, (await toChange(session)).id),
  }),
  says('DELETE sub_orders/:sub_order_id deletes it', async (session) => {
    const { id } = addedBy(await add(session, {}));
    succeeds(await session.call('DELETE', `${await pathIn(session)}/${id}`));
    const left = await readSubOrder(session, (await home(session)).id, id);
    isSame('the sub-order in its order', left, undefined);
  }),
];
