import { ensure, idsOf, isRow, isSuccess, type Row, rowOf, show, succeeds } from '../expect.ts';
import {
  addedBy,
  aSubOrder,
  codeOf,
  holds,
  isoOf,
  listed,
  orderOfSubOrder,
  orderParams,
  post,
  records,
  subOrderParams,
  userOf,
} from '../records.ts';
import { type Resource, resourceStatements, shapesOf } from '../resource.ts';
import { once, type Session } from '../session.ts';
import { CannotTell, inSection, type Statement } from '../statement.ts';
import { type FieldTable, fieldStatements, isAmount, type Parameter, sameSecond } from '../tables.ts';

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

/** This run's order in the list. */
const item = once(async (session) => inList(session, (await records.orders.one(session)).id));

async function itemSubOrder(session: Session): Promise<Row> {
  await aSubOrder(session);
  const { sub_orders: all } = await inList(session, (await orderOfSubOrder(session)).id);
  const [first] = Array.isArray(all) ? all.filter(isRow) : [];
  if (first) return first;
  throw new CannotTell('needs an order in the list with a sub-order');
}

async function inList(session: Session, id: number): Promise<Row> {
  const rows = await listed(session, path, { usernames: userOf(session), limit: 100 });
  const found = rows.find((row) => row.id === id);
  if (found) return found;
  throw new CannotTell('the order made is not in the list by `usernames`');
}

/** The tables of an order; the list shows other fields than the order alone. */
export const orderTables: Resource['tables'] = {
  section: 'Resources, Order (detail)',
  alone: detailFields,
  listed: { section: 'Resources, Order (list item)', fields: itemFields },
  listedSample: item,
};

const lists = inSection('Endpoints, Orders, List orders');

const othersOrder = once((session) => {
  const name = codeOf(session, 'other');
  return records.orders.fresh(session, 'order-other', { user_code: name, user_name: name });
});

export const orderReading: readonly Statement[] = [
  ...fieldStatements(
    'Resources, Order (list item)',
    'a sub-order in an order of the list',
    itemSubOrderFields,
    itemSubOrder,
  ),
  lists('paid_on: the orders paid on that day, and no other', async (session) => {
    const order = await item(session);
    const { user_code } = order;
    const ofUser = typeof user_code === 'string' ? { usernames: user_code } : {};
    const day = String(order.paid_at).slice(0, 10);
    const before = new Date(Date.parse(day) - 86_400_000).toISOString().slice(0, 10);
    const isOn = (paid_on: string) => holds(session, path, { paid_on, ...ofUser }, order);
    ensure(await isOn(day), `no order ${order.code} on its day of payment`, 'that order');
    ensure(!(await isOn(before)), `order ${order.code} on the day before`, 'no such order');
  }),
  lists('usernames: the orders of shop account names separated by commas, and no other', async (session) => {
    const [order, other] = [await records.orders.one(session), await othersOrder(session)];
    const of = async (usernames: string) => idsOf(await listed(session, path, { usernames, limit: 100 }));
    const [both, ours] = [await of(`${userOf(session)},${codeOf(session, 'other')}`), await of(userOf(session))];
    ensure(both.includes(order.id) && both.includes(other.id), `orders ${both.join()}`, `${order.id} and ${other.id}`);
    ensure(ours.includes(order.id), `orders ${ours.join()}`, `order ${order.id}`);
    ensure(!ours.includes(other.id), `order ${other.id} of another account`, 'only orders of that account');
  }),
  inSection('Endpoints, Orders, Get order by code')('an order is got by its code', async (session) => {
    const { id, code } = await records.orders.one(session);
    const answer = await session.call('GET', path, { query: { code: String(code) } });
    // The spec shows no path for it; only an order that is found says something.
    if (isSuccess(answer) && isRow(answer.body) && answer.body.id === id) return;
    throw new CannotTell(`the spec shows no path for it, and GET ${path}?code= does not give it; name the path`);
  }),
];

const optional: readonly Parameter[] = [
  { name: 'created_at', value: isoOf(2, '01:02:03'), shownAs: 'created_at', as: sameSecond },
  { name: 'total_price', value: 45_600, shownAs: 'total_price', as: isAmount },
  { name: 'user_code', value: async (session) => codeOf(session, 'buyer'), shownAs: 'user_code' },
  { name: 'user_name', value: 'Kim', shownAs: 'username' },
  { name: 'user_phone', value: '000-0000-0001', shownAs: 'phone' },
  { name: 'user_email', value: 'nobody@example.invalid', shownAs: 'user_email' },
  { name: 'user_grade_id', value: async (session) => (await records.user_grades.one(session)).id },
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
  required: orderParams,
  refusedWithout: ['code', 'created_at', 'total_price'],
  parameters: { create: optional, update: optional, updateByCode: optional },
  text: { sent: 'user_name', shownAs: 'username' },
  ofThisRun: (session) => ({ usernames: userOf(session) }),
  mayChangeCode: true,
};

const deletes = inSection('Endpoints, Orders, Delete an order');

export const orderWriting: readonly Statement[] = [
  ...shapesOf(order),
  ...resourceStatements(order),
  inSection('Resources, Order (detail)')(
    'input total_price is a float, output total_price a money object',
    async (session) => {
      const made = await records.orders.fresh(session, 'with-a-float', { total_price: 12_300.5 });
      ensure(
        isAmount(made.total_price, 12_300.5),
        `total_price ${show(made.total_price)}`,
        'a money object of 12300.5',
      );
    },
  ),
  inSection('Endpoints, Orders, Update an order by id')('none of the parameters is required', async (session) => {
    const { id } = await records.orders.fresh(session, 'unchanged');
    succeeds(await session.call('PATCH', `${path}/${id}`, { form: {} }));
  }),
  creates('code, created_at and total_price alone make an order, which is a non-member order', async (session) => {
    const { created_at = '', total_price = 0 } = await orderParams(session);
    const { user_code: user } = rowOf(await post(session, 'orders', 'order-bare', { created_at, total_price }));
    ensure(user === undefined || user === null || user === '', `user_code ${user}`, 'none');
  }),
  deletes('it also deletes the order’s sub-orders', async (session) => {
    const { id } = await records.orders.fresh(session, 'order-deleted-with-sub-order');
    const form = await subOrderParams(session);
    const { id: subId } = addedBy(await session.call('POST', `${path}/${id}/sub_orders`, { form }));
    succeeds(await session.call('DELETE', `${path}/${id}`));
    const query = { invoice: 'INV-2' };
    const answer = await session.call('PUT', `${path}/${id}/sub_orders/${subId}`, { query });
    ensure(!isSuccess(answer), answer.told, 'that the sub-order is gone');
  }),
];
