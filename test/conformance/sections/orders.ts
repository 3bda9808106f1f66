import {
  addedBy,
  aSubOrder,
  type Context,
  holds,
  isoOf,
  orderOfSubOrder,
  orderParams,
  productIdOf,
  readSubOrder,
  subOrderAnswer,
  subOrderParams,
} from '../records.ts';
import { type Resource, resourceStatements, shapesOf } from '../resource.ts';
import type { Answer, Params } from '../session.ts';
import * as is from '../statement.ts';
import {
  type FieldTable,
  fieldStatements,
  isAmount,
  isPairs,
  type Parameter,
  parameterStatements,
  sameSecond,
} from '../tables.ts';

const path = '/v1/orders';

const itemFields: FieldTable = [
  ['integer', 'id'],
  ['string', 'code user_code user_email username'],
  ['money object', 'total_price'],
  ['datetime', 'paid_at updated_at'],
  ['array of objects', 'sub_orders'],
];
const itemSubOrderFields: FieldTable = [
  ['integer', 'id product_id'],
  ['string', 'product_code status'],
];
const detailFields: FieldTable = [
  ['integer', 'id'],
  ['string', 'code user_code user_email username phone'],
  ['money object', 'total_price'],
  ['array of objects', 'sub_orders'],
  ['datetime', 'created_at updated_at'],
];

async function inList({ code, list }: Context, id: number): Promise<is.Row> {
  const found = (await list(path, { usernames: code('user'), limit: 100 })).find((row) => row.id === id);
  return is.needed(found, 'the order made is not in the list by `usernames`');
}
/** This run's order in the list. */
const item = async (context: Context) => inList(context, (await context.one('orders')).id);

async function itemSubOrder(context: Context): Promise<is.Row> {
  await aSubOrder(context);
  const { sub_orders: all } = await inList(context, (await context.shared(orderOfSubOrder)).id);
  return is.needed(is.rowsIn(all)[0], 'needs an order in the list with a sub-order');
}

const lists = is.inSection('Endpoints, Orders, List orders');
const othersOrder = ({ code, fresh }: Context) =>
  fresh('orders', 'order-other', { user_code: code('other'), user_name: code('other') });

export const orderReading: readonly is.Statement[] = [
  ...fieldStatements(
    'Resources, Order (list item)',
    'a sub-order in an order of the list',
    itemSubOrderFields,
    itemSubOrder,
  ),
  lists('paid_on: the orders paid on that day, and no other', async (context) => {
    const order = await context.shared(item);
    const ofUser = typeof order.user_code === 'string' ? { usernames: order.user_code } : {};
    const day = String(order.paid_at).slice(0, 10);
    const before = new Date(Date.parse(day) - 86_400_000).toISOString().slice(0, 10);
    const isOn = (paid_on: string) => holds(context, path, { paid_on, ...ofUser }, order);
    is.ensure(await isOn(day), `no order ${order.code} on its day of payment`, 'that order');
    is.ensure(!(await isOn(before)), `order ${order.code} on the day before`, 'no such order');
  }),
  lists('usernames: the orders of shop account names separated by commas, and no other', async (context) => {
    const { code, list, one, shared } = context;
    const [order, other] = [await one('orders'), await shared(othersOrder)];
    const of = async (usernames: string) => is.idsOf(await list(path, { usernames, limit: 100 }));
    const [both, ours] = [await of(`${code('user')},${code('other')}`), await of(code('user'))];
    const areThere = both.includes(order.id) && both.includes(other.id);
    is.ensure(areThere, `orders ${both.join()}`, `${order.id} and ${other.id}`);
    is.ensure(ours.includes(order.id), `orders ${ours.join()}`, `order ${order.id}`);
    is.ensure(!ours.includes(other.id), `order ${other.id} of another account`, 'only orders of that account');
  }),
  is.inSection('Endpoints, Orders, Get order by code')('an order is got by its code', async ({ get, one }) => {
    const { id, code } = await one('orders');
    const answer = await get(path, { code: String(code) });
    // The spec shows no path for it; only an order that is found says something.
    if (is.isSuccess(answer) && is.isRow(answer.body) && answer.body.id === id) return;
    throw new is.CannotTell(`the spec shows no path for it, and GET ${path}?code= does not give it; name the path`);
  }),
];

const optional: readonly Parameter[] = [
  { name: 'created_at', value: isoOf(2, '01:02:03'), shownAs: 'created_at', as: sameSecond },
  { name: 'total_price', value: 45_600, shownAs: 'total_price', as: isAmount },
  { name: 'user_code', value: ({ code }) => code('buyer'), shownAs: 'user_code' },
  { name: 'user_name', value: 'Kim', shownAs: 'username' },
  { name: 'user_phone', value: '000-0000-0001', shownAs: 'phone' },
  { name: 'user_email', value: 'nobody@example.invalid', shownAs: 'user_email' },
  { name: 'user_grade_id', value: async ({ one }) => (await one('user_grades')).id },
  { name: 'store_name', value: 'Main street', note: 'an offline store order' },
  { name: 'order_device', value: 'pc', note: '`pc`' },
  { name: 'order_device', value: 'mobile', note: '`mobile`' },
  { name: 'mileage', value: 100, note: 'points used' },
];

export const order: Resource = {
  kind: 'orders',
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
  // The list shows other fields than the order alone.
  tables: {
    section: 'Resources, Order (detail)',
    alone: detailFields,
    listed: { section: 'Resources, Order (list item)', fields: itemFields },
    listedSample: item,
  },
  required: orderParams,
  refusedWithout: ['code', 'created_at', 'total_price'],
  parameters: { create: optional, update: optional, updateByCode: optional },
  text: { sent: 'user_name', shownAs: 'username' },
  ofThisRun: ({ code }) => ({ usernames: code('user') }),
  mayChangeCode: true,
};

export const orderWriting: readonly is.Statement[] = [
  ...shapesOf(order),
  ...resourceStatements(order),
  is.inSection('Resources, Order (detail)')(
    'input total_price is a float, output total_price a money object',
    async ({ fresh }) => {
      const { total_price: total } = await fresh('orders', 'with-a-float', { total_price: 12_300.5 });
      is.ensure(isAmount(total, 12_300.5), `total_price ${is.show(total)}`, 'a money object of 12300.5');
    },
  ),
  is.inSection('Endpoints, Orders, Update an order by id')(
    'none of the parameters is required',
    async ({ call, fresh }) => {
      const { id } = await fresh('orders', 'unchanged');
      is.succeeds(await call('PATCH', `${path}/${id}`, { form: {} }));
    },
  ),
  is.inSection('Endpoints, Orders, Create or update an order')(
    'code, created_at and total_price alone make an order, which is a non-member order',
    async (context) => {
      const { created_at = '', total_price = 0 } = await orderParams(context);
      const { user_code: user } = is.rowOf(await context.post('orders', 'order-bare', { created_at, total_price }));
      is.ensure(user === undefined || user === null || user === '', `user_code ${user}`, 'none');
    },
  ),
  is.inSection('Endpoints, Orders, Delete an order')('it also deletes the order’s sub-orders', async (context) => {
    const { call, fresh } = context;
    const { id } = await fresh('orders', 'order-deleted-with-sub-order');
    const form = await subOrderParams(context);
    const { id: subId } = addedBy(await call('POST', `${path}/${id}/sub_orders`, { form }));
    is.succeeds(await call('DELETE', `${path}/${id}`));
    const answer = await call('PUT', `${path}/${id}/sub_orders/${subId}`, { query: { invoice: 'INV-2' } });
    is.isRefused(answer, 'that the sub-order is gone');
  }),
];

const subOrderFields: FieldTable = [
  ['integer', 'id product_id reviews_count'],
  ['object, string to string', 'product_options'],
  ['money object', 'price'],
  ['string', 'status delivery_service'],
  ['datetime or null', 'delivery_started_at delivered_at'],
  ['string or null', 'invoice'],
  ['datetime', 'created_at updated_at'],
];

/** A sub-order as its order shows it. */
async function shownSubOrder(context: Context, id: unknown): Promise<is.Row> {
  const found = await readSubOrder(context, (await context.shared(orderOfSubOrder)).id, id);
  if (found) return found;
  throw new is.Differs(`an order without its sub-order ${id}`, 'that sub-order');
}
/** This run's sub-order in its order's detail. */
const subOrder = async (context: Context) => shownSubOrder(context, (await aSubOrder(context)).id);

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

const pathIn = async ({ shared }: Context) => `${path}/${(await shared(orderOfSubOrder)).id}/sub_orders`;

async function add(context: Context, params: Params): Promise<Answer> {
  const form = { product_id: await productIdOf(context), price: 12_300, ...params };
  return context.call('POST', await pathIn(context), { form });
}
const toChange = async (context: Context) => addedBy(await add(context, { status: 'paid' }));

const says = is.inSection('Endpoints, Sub-orders');

export const subOrders: readonly is.Statement[] = [
  ...fieldStatements('Resources, Sub-order (inside order detail)', 'a sub-order', subOrderFields, subOrder),
  says('POST /v1/orders/:order_id/sub_orders adds a sub-order', async ({ shared }) => {
    is.succeeds(await shared(subOrderAnswer));
    await shared(subOrder);
  }),
  says('the create response carries the new sub-order’s id', async ({ shared }) => {
    const { body } = await shared(subOrderAnswer);
    is.ensure(is.isRow(body) && Number.isInteger(body.id), is.show(body), 'an integer id');
  }),
  ...parameterStatements(says, {
    operation: 'POST sub_orders',
    parameters,
    write: (context, _name, params) => add(context, params),
    read: (context, answer) => shownSubOrder(context, addedBy(answer).id),
  }),
  ...parameterStatements(says, {
    operation: 'PUT sub_orders/:sub_order_id',
    parameters,
    write: async (context, _name, query) => {
      const { id } = await context.shared(toChange);
      return context.call('PUT', `${await pathIn(context)}/${id}`, { query });
    },
    read: async (context) => shownSubOrder(context, (await context.shared(toChange)).id),
  }),
  says('DELETE sub_orders/:sub_order_id deletes it', async (context) => {
    const { id } = addedBy(await add(context, {}));
    is.succeeds(await context.call('DELETE', `${await pathIn(context)}/${id}`));
    const left = await readSubOrder(context, (await context.shared(orderOfSubOrder)).id, id);
    is.isSame('the sub-order in its order', left, undefined);
  }),
];
