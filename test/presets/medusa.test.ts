import { expect, test } from 'vitest';
import { each, openPresetWorld } from './preset-world.ts';

/** A change of an order: a new version with its own total and its own rows, as [item, quantity, other columns]. */
const version = (order: string, number: number, total: number, items: readonly [string, number, string?][]) =>
  `update "order" set version = ${number}, updated_at = :instant where id = '${order}';
   insert into order_summary (order_id, version, totals) values ('${order}', ${number},
     '{"current_order_total": ${total}, "raw_current_order_total": {"value": "${total}", "precision": 20}}');
   ${items.map(([item, quantity, more = '']) => itemRow(order, number, item, quantity, more)).join('')}`;

const itemRow = (order: string, number: number, item: string, quantity: number, more: string) =>
  `insert into order_item (order_id, version, item_id, quantity) values ('${order}', ${number}, '${item}', ${quantity});
   insert into order_line_item_adjustment (item_id, version, amount)
     select item_id, ${number}, amount from order_line_item_adjustment where item_id = '${item}' and version = ${number - 1};
   ${more === '' ? '' : `update order_item set ${more} where item_id = '${item}' and version = ${number};`}`;

test('a life of orders in Medusa arrives at the service as the shop has it', async () => {
  const shop = await openPresetWorld('medusa', { products: ['prod_1', 'prod_2'] });
  await shop.syncCatalog();

  // A draft is no order. Three shirts at 20.00, 6.00 off, 10 % tax; a mug at 11.00 with tax; a line typed in by hand.
  await shop.given(
    `insert into "order" (id, display_id, is_draft_order, created_at, updated_at) values ('o9', 9, true, :instant, :instant)`,
  );
  await shop.step(
    { feed: ['1001'] },
    `insert into "order" (id, display_id, email, customer_id, billing_address_id, shipping_address_id, created_at, updated_at)
       values ('o1', 1001, 'ada@example.com', 'cus_1', 'a1', 'a2', :instant, :instant);
     insert into order_line_item values
       ('i1', 'Shirt', 'prod_1', 'SHIRT-M', 'M', '{"Size": "M"}', 20, false), ('i2', 'Mug', 'prod_2', null, 'Blue', null, 11, true),
       ('i3', 'Wrapping', null, null, null, null, 2, true);
     insert into order_line_item_adjustment (item_id, version, amount) values ('i1', 0, 6);
     insert into order_line_item_tax_line (item_id, rate) values ('i1', 10), ('i2', 10);
     ${version('o1', 1, 72.4, [
       ['i1', 3],
       ['i2', 1],
       ['i3', 1],
     ])}`,
  );
  const shirts = { product: 'prod_1', price: 59.4, options: { Size: 'M' } };
  const mug = { product: 'prod_2', price: 11, options: { Variant: 'Blue' } };
  const ada = { user: 'cus_1', name: 'Ada Lovelace', phone: '+44 20 1', email: 'ada@example.com', grade: 'Gold' };
  expect(await shop.orders()).toEqual({
    '1001': {
      ...ada,
      total: 72.4,
      created: '+1h',
      lines: each({ status: 'unpaid' }, shirts, mug),
    },
  });

  // A payment is captured: the date of the order does not move.
  await shop.step(
    { feed: ['1001'] },
    `insert into order_transaction (order_id, amount, updated_at) values ('o1', 72.4, :instant)`,
  );
  expect((await shop.orders())['1001']?.lines.map(({ status }) => status)).toEqual(['paid', 'paid']);

  // Two shirts leave, then the rest; each is a new version. Then one parcel after the other arrives.
  await shop.step(
    { feed: ['1001'] },
    `insert into fulfillment values ('f1', :instant, null, null, :instant), ('f0', :instant, null, :instant, :instant);
     insert into order_fulfillment values ('o1', 'f1'), ('o1', 'f0');
     insert into fulfillment_item (fulfillment_id, line_item_id, quantity) values ('f1', 'i1', 2), ('f0', 'i1', 2);
     insert into fulfillment_label (fulfillment_id, tracking_number) values ('f1', 'T1'), ('f0', 'CANCELLED');
     ${version('o1', 2, 72.4, [
       ['i1', 3, 'fulfilled_quantity = 2, shipped_quantity = 2'],
       ['i2', 1],
       ['i3', 1],
     ])}`,
  );
  await shop.step(
    { feed: ['1001'] },
    `insert into fulfillment values ('f2', :instant, null, null, :instant); insert into order_fulfillment values ('o1', 'f2');
     insert into fulfillment_item (fulfillment_id, line_item_id, quantity) values ('f2', 'i1', 1), ('f2', 'i2', 1);
     insert into fulfillment_label (fulfillment_id, tracking_number) values ('f2', 'T2');
     ${version('o1', 3, 72.4, [
       ['i1', 3, 'fulfilled_quantity = 3, shipped_quantity = 3'],
       ['i2', 1, 'fulfilled_quantity = 1, shipped_quantity = 1'],
       ['i3', 1],
     ])}`,
  );
  const arrives = (parcel: string, number: number, first: number, second: number) =>
    `update fulfillment set delivered_at = :instant, updated_at = :instant where id = '${parcel}';
     ${version('o1', number, 72.4, [
       ['i1', 3, `fulfilled_quantity = 3, shipped_quantity = 3, delivered_quantity = ${first}`],
       ['i2', 1, `fulfilled_quantity = 1, shipped_quantity = 1, delivered_quantity = ${second}`],
     ])}`;
  await shop.step({ feed: ['1001'] }, arrives('f1', 4, 2, 0));
  expect((await shop.orders())['1001']?.lines).toEqual([
    { ...shirts, status: 'delivery_started', shipped: '+3h', invoice: 'T1' },
    { ...mug, status: 'delivery_started', shipped: '+4h', invoice: 'T2' },
  ]);
  await shop.step({ feed: ['1001'] }, arrives('f2', 5, 3, 1));
  const arrived = { status: 'delivery_finished', delivered: '+6h' };
  expect((await shop.orders())['1001']?.lines).toEqual([
    { ...shirts, ...arrived, shipped: '+3h', invoice: 'T1' },
    { ...mug, ...arrived, shipped: '+4h', invoice: 'T2' },
  ]);

  // The mug is sent back, received and refunded.
  const returned = (columns: string, number: number) =>
    version('o1', number, 72.4, [
      ['i1', 3, 'fulfilled_quantity = 3, shipped_quantity = 3, delivered_quantity = 3'],
      ['i2', 1, `fulfilled_quantity = 1, shipped_quantity = 1, delivered_quantity = 1, ${columns}`],
    ]);
  await shop.step({ feed: ['1001'] }, returned('return_requested_quantity = 1', 6));
  expect((await shop.orders())['1001']?.lines[1]?.status).toBe('refund_requested');
  await shop.step({ feed: ['1001'] }, returned('return_received_quantity = 1', 7));
  await shop.step(
    { feed: ['1001'] },
    `insert into order_transaction (order_id, amount, updated_at) values ('o1', -11, :instant)`,
  );
  expect((await shop.orders())['1001']).toMatchObject({
    total: 61.4,
    lines: [{ status: 'delivery_finished' }, { status: 'returned' }],
  });

  // An address is edited in place: no date of the order moves.
  await shop.step({ feed: [] }, `update order_address set last_name = 'King' where id = 'a1'`);
  expect((await shop.orders())['1001']?.name).toBe('Ada King');

  // A second order: an edit takes a line out, then it is cancelled.
  await shop.step(
    { feed: ['1002'] },
    `insert into "order" (id, display_id, email, created_at, updated_at) values ('o2', 1002, 'guest@example.com', :instant, :instant);
     insert into order_line_item values ('i4', 'Shirt', 'prod_1', null, null, '{}', 20, true), ('i5', 'Mug', 'prod_2', null, null, null, 11, true);
     insert into order_transaction (order_id, amount, updated_at) values ('o2', 31, :instant);
     ${version('o2', 1, 31, [
       ['i4', 1],
       ['i5', 1],
     ])}`,
  );
  await shop.step({ feed: ['1002'] }, version('o2', 2, 10, [['i5', 1, 'unit_price = 10']]));
  expect((await shop.orders())['1002']).toEqual({
    total: 10,
    email: 'guest@example.com',
    created: '+11h',
    lines: [{ product: 'prod_2', price: 10, status: 'paid' }],
  });
  await shop.step(
    { feed: ['1002'] },
    `insert into order_transaction (order_id, amount, updated_at) values ('o2', -31, :instant);
     update "order" set canceled_at = :instant, status = 'canceled', updated_at = :instant where id = 'o2'`,
  );
  expect((await shop.orders())['1002']).toMatchObject({ total: 0, lines: [{ status: 'cancelled' }] });

  // The customer is deleted: no date of the order moves.
  expect((await shop.orders())['1001']).toMatchObject({ phone: '+44 20 1', email: 'ada@example.com' });
  await shop.step({ feed: [] }, `update customer set deleted_at = :instant where id = 'cus_1'`);
  expect((await shop.orders())['1001']).not.toHaveProperty('email');
  expect((await shop.orders())['1001']).not.toHaveProperty('phone');

  await shop.expectAgreement();
  await shop.expectCatalog({
    categories: { c1: 'Clothing', c2: 'Shirts < c1 (hidden)' },
    grades: ['Gold', 'Silver'],
  });
});
