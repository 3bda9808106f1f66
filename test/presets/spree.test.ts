import { expect, test } from 'vitest';
import { openPresetWorld } from './preset-world.ts';

test('a life of orders in Spree arrives at the service as the shop has it', async () => {
  const shop = await openPresetWorld('spree', { timeZone: 'UTC', products: ['10', '20'] });

  // A cart is no order: Spree keeps both in one table. Of three shirts, two are in the first shipment.
  await shop.given(`insert into spree_orders (id, number, state, updated_at) values (9, 'R9', 'cart', :now)`);
  await shop.step(
    { feed: ['R1'] },
    `insert into spree_orders values (1, 'R1', 'complete', 70, 70, :now, :now, 7, 'ada@example.com', 1, 2, 'paid', 'ready');
     insert into spree_line_items values (1, 1, 11, 3, 20, 0, :now), (2, 1, 21, 1, 10, 0, :now);
     insert into spree_payments values (1, 1, 70, 'completed');
     insert into spree_shipments values (1, 1, 'ready', null, null, :now), (2, 1, 'pending', null, null, :now);
     insert into spree_shipping_rates values (1, 1, 1, true, 5), (2, 1, 2, false, 3), (3, 2, 3, true, 5);
     insert into spree_inventory_units values (1, 1, 1, 'on_hand', 2), (2, 1, 2, 'backordered', 1), (3, 2, 2, 'backordered', 1)`,
  );
  const shirts = { product: '10', price: 60, options: { Size: 'M' } };
  const mug = { product: '20', price: 10 };
  expect(await shop.orders()).toEqual({
    R1: {
      user: '7',
      name: 'Ada Lovelace',
      phone: '+44 20 1',
      email: 'ada@example.com',
      total: 70,
      created: '+1h',
      lines: [
        { ...shirts, status: 'delivery_preparing' },
        { ...mug, status: 'paid' },
      ],
    },
  });

  const ship = (shipment: number) => `
    update spree_inventory_units set state = 'shipped' where shipment_id = ${shipment};
    update spree_shipments set state = 'shipped', tracking = 'T${shipment}', shipped_at = :now, updated_at = :now where id = ${shipment};
    update spree_orders set updated_at = :now where id = 1`;
  await shop.step({ feed: ['R1'] }, ship(1));
  expect(await shop.suggestedDeliveries('R1')).toEqual({ 10: undefined, 20: undefined });
  await shop.step({ feed: ['R1'] }, ship(2));
  expect(await shop.suggestedDeliveries('R1')).toEqual({ 10: '+3h', 20: '+3h' });
  const sent = { status: 'delivery_started' };
  expect((await shop.orders()).R1?.lines).toEqual([
    { ...shirts, ...sent, shipped: '+2h', invoice: 'T1', carrier: 'Courier' },
    { ...mug, ...sent, shipped: '+3h', invoice: 'T2', carrier: 'Post' },
  ]);

  // All shirts are announced as returned, come back, and are refunded.
  await shop.step(
    { feed: ['R1'] },
    `insert into spree_return_items values (1, 1, 'awaiting'), (2, 2, 'awaiting');
     update spree_orders set state = 'awaiting_return', updated_at = :now where id = 1`,
  );
  expect((await shop.orders()).R1?.lines.map(({ status }) => status)).toEqual(['refund_requested', 'delivery_started']);
  await shop.step(
    { feed: ['R1'] },
    `update spree_return_items set reception_status = 'received';
     update spree_inventory_units set state = 'returned' where line_item_id = 1;
     insert into spree_refunds values (1, 1, 60);
     update spree_orders set state = 'returned', payment_total = 10, updated_at = :now where id = 1`,
  );
  expect((await shop.orders()).R1).toMatchObject({
    total: 10,
    lines: [{ status: 'returned' }, { status: 'delivery_started' }],
  });
  expect(await shop.suggestedDeliveries('R1')).toEqual({ 10: undefined, 20: '+3h' });

  // An address is edited in place: no date of the order moves.
  await shop.step({ feed: [] }, `update spree_addresses set lastname = 'King', updated_at = :now where id = 1`);
  expect((await shop.orders()).R1?.name).toBe('Ada King');

  // A guest's order: a line is taken out of it, then it is cancelled.
  await shop.step(
    { feed: ['R2'] },
    `insert into spree_orders values (2, 'R2', 'complete', 30, 0, :now, :now, null, 'guest@example.com', null, 2, 'balance_due', 'pending');
     insert into spree_line_items values (3, 2, 11, 1, 20, 0, :now), (4, 2, 21, 1, 10, -1, :now)`,
  );
  await shop.step(
    { feed: ['R2'] },
    `delete from spree_line_items where id = 3; update spree_orders set total = 9, updated_at = :now where id = 2`,
  );
  expect((await shop.orders()).R2).toEqual({
    total: 9,
    name: 'Ada',
    email: 'guest@example.com',
    created: '+7h',
    lines: [{ ...mug, price: 9, status: 'unpaid' }],
  });
  await shop.step(
    { feed: ['R2'] },
    `update spree_orders set state = 'canceled', payment_state = 'void', updated_at = :now where id = 2`,
  );
  expect((await shop.orders()).R2).toMatchObject({ total: 0, lines: [{ status: 'cancelled' }] });

  await shop.expectAgreement();
  await shop.expectCatalog({ categories: { '1': 'Categories', '2': 'Clothing < 1' } });
});
