import { changing, codedResource } from './coded-resource.ts';
import { created, type Operation, removed, updated } from './operation.ts';
import {
  amount,
  choice,
  day,
  demanded,
  filled,
  id,
  integer,
  key,
  moment,
  newId,
  optionPairs,
  type Params,
  text,
} from './params.ts';

const fields: Params = {
  user_code: key("Buyer's shop account; absent for a non-member order."),
  user_name: text('Buyer name; answered as username.'),
  user_phone: text('Buyer mobile number; answered as phone.'),
  user_email: text('Buyer e-mail; without it no review e-mail is sent.'),
  user_grade_id: id('Member grade; without it none is displayed.'),
  store_name: text('Store of an offline order.'),
  order_device: choice('Where the order was made.', ['pc', 'mobile']),
  mileage: integer('Points used.', { minimum: -2_147_483_648, maximum: 2_147_483_647 }),
};
const price = 'Amount actually paid, without coupons and points; answered as a money object.';
const change: Params = {
  code: filled('Order number, unique among orders.'),
  created_at: demanded(moment('Order creation time, significant to the second.')),
  total_price: demanded(amount(price)),
  ...fields,
};

/** Orders (docs/interface.md, "Orders"). */
export const orderOperations: Operation[] = codedResource({
  path: '/v1/orders',
  tag: 'Orders',
  noun: 'order',
  item: 'OrderListItem',
  detail: 'Order',
  filters: {
    paid_on: day('Only orders paid on that day.'),
    usernames: text('Shop account names, separated by commas: only their orders.'),
  },
  creation: change,
  required: ['code', 'created_at', 'total_price'],
  changeById: change,
  changeByCode: change,
});

const path = '/v1/orders/:order_id/sub_orders';
const tag = 'Sub-orders';
const subOrder: Params = {
  product_id: newId("The service's id of the product."),
  product_code: key("The shop's code of the product, in place of its id."),
  price: amount('Price.'),
  delivery_started_at: moment('When delivery started.'),
  delivered_at: moment('When it was delivered.'),
  status: text('paid, delivery_started, delivery_finished or another.'),
  invoice: text('Shipping invoice number.'),
  delivery_service: text('Who delivers.'),
  product_options: optionPairs('Options chosen, <key>:<value> each.'),
};

/** Sub-orders (docs/interface.md, "Sub-orders"). */
export const subOrderOperations: Operation[] = [
  {
    id: 'addSubOrder',
    method: 'POST',
    path,
    tag,
    summary: 'Add; each call adds one more',
    params: subOrder,
    answers: { 201: { ...created('SubOrder'), description: 'Added.' } },
  },
  ...[...changing].reverse().map(
    (method): Operation => ({
      id: method === 'PUT' ? 'changeSubOrder' : 'patchSubOrder',
      method,
      path: `${path}/:id`,
      tag,
      summary: 'Change',
      params: subOrder,
      answers: { 204: updated },
    }),
  ),
  {
    id: 'deleteSubOrder',
    method: 'DELETE',
    path: `${path}/:id`,
    tag,
    summary: 'Delete',
    params: {},
    answers: { 204: removed },
  },
];
