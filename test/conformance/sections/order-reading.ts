import { ensure, idsOf, isRow, isSuccess, type Row } from '../expect.ts';
import type { Params } from '../http.ts';
import { type FieldTable, fieldStatements } from '../kinds.ts';
import { codeOf, userOf } from '../post.ts';
import { anOrder, aSubOrder, freshOrder, fullestListed, holds, listed, orderOfSubOrder } from '../records.ts';
import type { Resource } from '../resource.ts';
import type { Session } from '../session.ts';
import { CannotTell, inSection, type Statement } from '../statement.ts';

const path = '/v1/orders';

const itemFields: FieldTable = [
  ['id', 'integer', 'service identifier'],
  ['code', 'string', 'shop order number'],
  ['total_price', 'money object'],
  ['user_code', 'string', 'buyer account name in the shop'],
  ['user_email', 'string', 'buyer e-mail'],
  ['username', 'string', 'buyer account name'],
  ['paid_at', 'datetime', 'payment time'],
  ['updated_at', 'datetime'],
  ['sub_orders', 'array of objects'],
];

const itemSubOrderFields: FieldTable = [
  ['id', 'integer'],
  ['product_id', 'integer'],
  ['product_code', 'string'],
  ['status', 'string'],
];

const detailFields: FieldTable = [
  ['id', 'integer'],
  ['code', 'string'],
  ['user_code', 'string'],
  ['user_email', 'string'],
  ['username', 'string'],
  ['phone', 'string', 'buyer phone'],
  ['total_price', 'money object'],
  ['sub_orders', 'array of objects'],
  ['created_at', 'datetime'],
  ['updated_at', 'datetime'],
];

/** This run's order in the list, or the first there in a run that only reads. */
async function item(session: Session): Promise<Row> {
  if (session.settings.readOnly) return fullestListed(session, path);
  return inList(session, (await session.shared(anOrder)).id);
}

async function itemSubOrder(session: Session): Promise<Row> {
  for (const { sub_orders: all } of await ordersWithSubOrders(session)) {
    if (Array.isArray(all) && isRow(all[0])) return all[0];
  }
  throw new CannotTell('needs an order in the list with a sub-order');
}

async function ordersWithSubOrders(session: Session): Promise<Row[]> {
  if (session.settings.readOnly) return listed(session, path, { limit: 100 });
  await session.shared(aSubOrder);
  return [await inList(session, (await session.shared(orderOfSubOrder)).id)];
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

const shapes = [
  ...fieldStatements({
    section: 'Resources, Order (list item)',
    of: 'a sub-order in an order of the list',
    fields: itemSubOrderFields,
    sample: itemSubOrder,
  }),
];

const lists = inSection('Endpoints, Orders, List orders');

const listParameters = [
  lists('paid_on: orders paid on that day', async (session) => {
    const order = await session.shared(item);
    const filters = { paid_on: dayOf(order), ...userFilter(session, order) };
    ensure(await holds(session, path, filters, order), `no order ${order.code} on its day of payment`, 'that order');
  }),
  lists('paid_on: only orders paid on that day', async (session) => {
    const order = await session.shared(item);
    const day = new Date(Date.parse(dayOf(order)) - 86_400_000).toISOString().slice(0, 10);
    const filters = { paid_on: day, ...userFilter(session, order) };
    ensure(!(await holds(session, path, filters, order)), `order ${order.code} on the day before`, 'no such order');
  }),
  lists('usernames: shop account names separated by commas', async (session) => {
    const order = await session.shared(anOrder);
    const other = await session.shared(othersOrder);
    const usernames = `${userOf(session)},${codeOf(session, 'other')}`;
    const ids = idsOf(await listed(session, path, { usernames, limit: 100 }));
    ensure(ids.includes(order.id) && ids.includes(other.id), `orders ${ids.join()}`, `${order.id} and ${other.id}`);
  }),
  lists('usernames: only their orders', async (session) => {
    const order = await session.shared(anOrder);
    const other = await session.shared(othersOrder);
    const ids = idsOf(await listed(session, path, { usernames: userOf(session), limit: 100 }));
    ensure(ids.includes(order.id), `orders ${ids.join()}`, `order ${order.id}`);
    ensure(!ids.includes(other.id), `order ${other.id} of another account`, 'only orders of that account');
  }),
];

const othersOrder = (session: Session) =>
  freshOrder(session, 'order-other', { user_code: codeOf(session, 'other'), user_name: codeOf(session, 'other') });
const dayOf = (order: Row) => String(order.paid_at).slice(0, 10);
const userFilter = (session: Session, { user_code }: Row): Params =>
  session.settings.readOnly || typeof user_code !== 'string' ? {} : { usernames: user_code };

const gets = [
  inSection('Endpoints, Orders, Get order by code')('an order is got by its code', async (session) => {
    const { id, code } = session.settings.readOnly ? await fullestListed(session, path) : await session.shared(anOrder);
    const answer = await session.call('GET', path, { query: { code: String(code) } });
    // The spec shows no path for it; only an order that is found says something.
    if (isSuccess(answer) && isRow(answer.body) && answer.body.id === id) return;
    throw new CannotTell(`the spec shows no path for it, and GET ${path}?code= does not give it; name the path`);
  }),
];

export const orderReading: readonly Statement[] = [...shapes, ...listParameters, ...gets];
