import * as records from '../records.ts';
import { type Resource, resourceStatements, shapesOf } from '../resource.ts';
import type { Answer, Params } from '../session.ts';
import * as is from '../statement.ts';
import * as tables from '../tables.ts';

type Context = records.Context;
const path = '/v1/orders';
const says = is.inSection('Endpoints, Orders');

async function inList({ code, list }: Context, id: number): Promise<is.Row> {
  const found = (await list(path, { usernames: code('user'), limit: 100 })).find((row) => row.id === id);
  return is.needed(found, 'the order made is not in the list by `usernames`');
}
/** This run's order in the list. */
const item = async (context: Context) => inList(context, (await context.one('orders')).id);

async function itemSubOrder(context: Context): Promise<is.Row> {
  await records.aSubOrder(context);
  const { sub_orders: all } = await inList(context, (await context.shared(records.orderOfSubOrder)).id);
  return is.needed(is.rowsIn(all)[0], 'needs an order in the list with a sub-order');
}

const othersOrder = ({ code, fresh }: Context) =>
  fresh('orders', 'order-other', { user_code: code('other'), user_name: code('other') });

const optional: readonly tables.Parameter[] = [
  { name: 'created_at', value: records.isoOf(2, '01:02:03'), shownAs: 'created_at', as: tables.sameSecond },
  { name: 'total_price', value: 45_600, shownAs: 'total_price', as: tables.isAmount },
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
  section: 'Endpoints, Orders',
  called: 'an order',
  // The list shows other fields than the order alone.
  fields: {
    section: 'Resources, Order (detail)',
    alone: [
      ['integer', 'id'],
      ['string', 'code user_code user_email username phone'],
      ['money object', 'total_price'],
      ['array of objects', 'sub_orders'],
      ['datetime', 'created_at updated_at'],
    ],
    listed: [
      'Resources, Order (list item)',
      [
        ['integer', 'id'],
        ['string', 'code user_code user_email username'],
        ['money object', 'total_price'],
        ['datetime', 'paid_at updated_at'],
        ['array of objects', 'sub_orders'],
      ],
    ],
  },
  listed: item,
  refusedWithout: ['code', 'created_at', 'total_price'],
  parameters: { create: optional, update: optional },
  text: { sent: 'user_name', shownAs: 'username' },
  ofThisRun: ({ code }) => ({ usernames: code('user') }),
  mayChangeCode: true,
};

export const orders: readonly is.Statement[] = [
  ...tables.fieldStatements(
    'Resources, Order (list item)',
    'a sub-order in an order of the list',
    [
      ['integer', 'id product_id'],
      ['string', 'product_code status'],
    ],
    itemSubOrder,
  ),
  says('paid_on: the orders paid on that day, and no other', async (context) => {
    const order = await context.shared(item);
    const ofUser = typeof order.user_code === 'string' ? { usernames: order.user_code } : {};
    const day = String(order.paid_at).slice(0, 10);
    const before = new Date(Date.parse(day) - 86_400_000).toISOString().slice(0, 10);
    const isOn = (paid_on: string) => records.holds(context, path, { paid_on, ...ofUser }, order);
    is.ensure(await isOn(day), `no order ${order.code} on its day of payment`, 'that order');
    is.ensure(!(await isOn(before)), `order ${order.code} on the day before`, 'no such order');
  }),
  says('usernames: the orders of shop account names separated by commas, and no other', async (context) => {
    const { code, list, one, shared } = context;
    const [order, other] = [await one('orders'), await shared(othersOrder)];
    const of = async (usernames: string) => is.idsOf(await list(path, { usernames, limit: 100 }));
    const [both, ours] = [await of(`${code('user')},${code('other')}`), await of(code('user'))];
    const areThere = both.includes(order.id) && both.includes(other.id);
    is.ensure(areThere, `orders ${both.join()}`, `${order.id} and ${other.id}`);
    is.ensure(ours.includes(order.id), `orders ${ours.join()}`, `order ${order.id}`);
    is.ensure(!ours.includes(other.id), `order ${other.id} of another account`, 'only orders of that account');
  }),
  says('an order is got by its code', async ({ get, one }) => {
    const { id, code } = await one('orders');
    const answer = await get(path, { code: String(code) });
    // The spec shows no path for it; only an order that is found says something.
    if (is.isSuccess(answer) && is.isRow(answer.body) && answer.body.id === id) return;
    throw new is.CannotTell(`the spec shows no path for it, and GET ${path}?code= does not give it; name the path`);
  }),
  ...shapesOf(order),
  ...resourceStatements(order),
  is.inSection('Resources, Order (detail)')(
    'input total_price is a float, output total_price a money object',
    async ({ fresh }) => {
      const { total_price: total } = await fresh('orders', 'with-a-float', { total_price: 12_300.5 });
      is.ensure(tables.isAmount(total, 12_300.5), `total_price ${is.show(total)}`, 'a money object of 12300.5');
    },
  ),
  says('none of the parameters is required', async ({ call, fresh }) => {
    const { id } = await fresh('orders', 'unchanged');
    is.succeeds(await call('PATCH', `${path}/${id}`, { form: {} }));
  }),
  says('code, created_at and total_price alone make an order, which is a non-member order', async ({ make }) => {
    const { user_code: user } = is.rowOf(await make('orders', 'order-bare', {}, 'user_code user_name'));
    is.ensure(user === undefined || user === null || user === '', `user_code ${user}`, 'none');
  }),
  says('it also deletes the order’s sub-orders', async (context) => {
    const { call, fresh } = context;
    const { id } = await fresh('orders', 'order-deleted-with-sub-order');
    const form = await records.subOrderParams(context);
    const { id: subId } = records.addedBy(await call('POST', `${path}/${id}/sub_orders`, { form }));
    is.succeeds(await call('DELETE', `${path}/${id}`));
    const answer = await call('PUT', `${path}/${id}/sub_orders/${subId}`, { query: { invoice: 'INV-2' } });
    is.isRefused(answer, 'that the sub-order is gone');
  }),
];

/** A sub-order as its order shows it. */
async function shownSubOrder(context: Context, id: unknown): Promise<is.Row> {
  const found = await records.readSubOrder(context, id);
  is.ensure(found !== undefined, `an order without its sub-order ${id}`, 'that sub-order');
  return found;
}
/** This run's sub-order in its order's detail. */
const subOrder = async (context: Context) => shownSubOrder(context, (await records.aSubOrder(context)).id);

const parameters: readonly tables.Parameter[] = [
  { name: 'product_id', value: records.productIdOf, shownAs: 'product_id' },
  { name: 'price', value: 7800, shownAs: 'price', as: tables.isAmount },
  ...['delivery_started_at', 'delivered_at'].map((name, n) => ({
    name,
    value: records.isoOf(1, `09:10:1${n}`),
    shownAs: name,
    as: tables.sameSecond,
  })),
  ...['paid', 'delivery_started', 'delivery_finished'].map((value) => ({
    name: 'status',
    value,
    shownAs: 'status',
    note: `\`${value}\``,
  })),
  { name: 'invoice', value: 'INV-7', shownAs: 'invoice' },
  { name: 'delivery_service', value: 'Courier', shownAs: 'delivery_service' },
  { name: 'product_options[]', value: ['Size:M', 'Colour:blue'], shownAs: 'product_options', as: tables.isPairs },
];

const pathIn = async ({ shared }: Context) => `${path}/${(await shared(records.orderOfSubOrder)).id}/sub_orders`;

async function add(context: Context, params: Params): Promise<Answer> {
  const form = { product_id: await records.productIdOf(context), price: 12_300, ...params };
  return context.call('POST', await pathIn(context), { form });
}
const toChange = async (context: Context) => records.addedBy(await add(context, { status: 'paid' }));

const ofSubOrders = is.inSection('Endpoints, Sub-orders');

export const subOrders: readonly is.Statement[] = [
  ...tables.fieldStatements(
    'Resources, Sub-order (inside order detail)',
    'a sub-order',
    [
      ['integer', 'id product_id reviews_count'],
      ['object, string to string', 'product_options'],
      ['money object', 'price'],
      ['string', 'status delivery_service'],
      ['datetime or null', 'delivery_started_at delivered_at'],
      ['string or null', 'invoice'],
      ['datetime', 'created_at updated_at'],
    ],
    subOrder,
  ),
  ofSubOrders('POST /v1/orders/:order_id/sub_orders adds a sub-order', async ({ shared }) => {
    is.succeeds(await shared(records.subOrderAnswer));
    await shared(subOrder);
  }),
  ofSubOrders('the create response carries the new sub-order’s id', async ({ shared }) => {
    const { body } = await shared(records.subOrderAnswer);
    is.ensure(is.isRow(body) && Number.isInteger(body.id), is.show(body), 'an integer id');
  }),
  ...tables.parameterStatements(ofSubOrders, {
    operation: 'POST sub_orders',
    parameters,
    write: (context, _name, params) => add(context, params),
    read: (context, answer) => shownSubOrder(context, records.addedBy(answer).id),
  }),
  ...tables.parameterStatements(ofSubOrders, {
    operation: 'PUT sub_orders/:sub_order_id',
    parameters,
    write: async (context, _name, query) => {
      const { id } = await context.shared(toChange);
      return context.call('PUT', `${await pathIn(context)}/${id}`, { query });
    },
    read: async (context) => shownSubOrder(context, (await context.shared(toChange)).id),
  }),
  ofSubOrders('DELETE sub_orders/:sub_order_id deletes it', async (context) => {
    const { id } = records.addedBy(await add(context, {}));
    is.succeeds(await context.call('DELETE', `${await pathIn(context)}/${id}`));
    is.isSame('the sub-order in its order', await records.readSubOrder(context, id), undefined);
  }),
];
