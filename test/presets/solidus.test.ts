import { expect, test } from 'vitest';
import { each, openPresetWorld } from './preset-world.ts';

test('a life of orders in Solidus arrives at the service as the shop has it', async () => {
  const shop = await openPresetWorld('solidus', { timeZone: 'UTC', products: ['10', '20'] });

  // A cart is no order: Solidus keeps both in one table. The shirt comes in two pieces, and of two mugs one
  // is cancelled.
  await shop.given(`
    insert into spree_orders (id, number, state, total, updated_at) values (9, 'R9', 'cart', 5, :now)`);
  await shop.step(
    { feed: ['R1'] },
    `insert into spree_orders values (1, 'R1', 'complete', 49.50, 0, :now, :now, :now, 7, 'ada@example.com', 1, 2, 'balance_due', 'pending');
     insert into spree_line_items values (1, 1, 11, 2, 20.00, -0.50, :now), (2, 1, 21, 2, 10.00, -10.00, :now);
     insert into spree_shipments values (1, 1, 'pending', null, null, :now);
     insert into spree_inventory_units values (1, 1, 11, 1, null, 'on_hand'), (2, 1, 11, 1, null, 'on_hand'), (3, 2, 21, 1, null, 'on_hand'),
       (4, 2, 21, null, null, 'canceled')`,
  );
  const customer = { user: '7', name: 'Ada Lovelace', phone: '+44 20 1', email: 'ada@example.com' };
  const shirt = { product: '10', price: 39.5, options: { Size: 'M' } };
  const mug = { product: '20', price: 10 };
  expect(await shop.orders()).toEqual({
    R1: {
      ...customer,
      total: 49.5,
      created: '+1h',
      lines: each({ status: 'unpaid' }, shirt, mug),
    },
  });

  await shop.step(
    { feed: ['R1'] },
    `insert into spree_payments values (1, 1, 49.50, 'completed');
     update spree_shipments set state = 'ready', updated_at = :now;
     update spree_orders set payment_state = 'paid', payment_total = 49.50, updated_at = :now where id = 1`,
  );
  expect((await shop.orders()).R1?.lines.map(({ status }) => status)).toEqual([
    'delivery_preparing',
    'delivery_preparing',
  ]);

  // One shirt leaves, then the other one with the mug, by another carrier: number, carrier and date of the first carton.
  const ship = (carton: number, units: string) => `
    insert into spree_cartons values (${carton}, '1Z${carton}', :now, ${carton});
    update spree_inventory_units set state = 'shipped', carton_id = ${carton} where id in (${units});
    update spree_shipments set tracking = '1Z${carton}', updated_at = :now where id = 1;
    update spree_orders set updated_at = :now where id = 1`;
  await shop.step({ feed: ['R1'] }, ship(1, '1'));
  expect(await shop.suggestedDeliveries('R1')).toEqual({ 10: undefined, 20: undefined });
  await shop.step({ feed: ['R1'] }, ship(2, '2, 3'));
  expect(await shop.suggestedDeliveries('R1')).toEqual({ 10: '+4h', 20: '+4h' });
  const sent = { status: 'delivery_started' };
  expect((await shop.orders()).R1?.lines).toEqual([
    { ...shirt, ...sent, shipped: '+3h', invoice: '1Z1', carrier: 'UPS' },
    { ...mug, ...sent, shipped: '+4h', invoice: '1Z2', carrier: 'Express' },
  ]);

  // The mug comes back and is refunded.
  await shop.step(
    { feed: ['R1'] },
    `update spree_inventory_units set state = 'returned' where id = 3;
     insert into spree_refunds values (1, 1, 10.00, :now);
     update spree_orders set state = 'returned', payment_total = 39.50, updated_at = :now where id = 1`,
  );
  expect((await shop.orders()).R1).toMatchObject({
    total: 39.5,
    lines: [{ status: 'delivery_started' }, { status: 'returned' }],
  });
  expect(await shop.suggestedDeliveries('R1')).toEqual({ 10: '+4h', 20: undefined });

  // A second order of a guest: a line is taken out of it, then it is cancelled.
  await shop.step(
    { feed: ['R2'] },
    `insert into spree_orders values (2, 'R2', 'complete', 30, 30, :now, :now, :now, null, 'guest@example.com', null, 2, 'paid', 'ready');
     insert into spree_line_items values (3, 2, 11, 1, 20, 0, :now), (4, 2, 21, 1, 10, 0, :now)`,
  );
  await shop.step(
    { feed: ['R2'] },
    `delete from spree_line_items where id = 3; update spree_orders set total = 10, updated_at = :now where id = 2`,
  );
  expect((await shop.orders()).R2).toEqual({
    total: 10,
    name: 'Ada King',
    email: 'guest@example.com',
    created: '+6h',
    lines: [{ ...mug, status: 'paid' }],
  });
  await shop.step(
    { feed: ['R2'] },
    `update spree_orders set state = 'canceled', payment_state = 'void', payment_total = 0, updated_at = :now where id = 2`,
  );
  expect((await shop.orders()).R2).toMatchObject({ total: 0, lines: [{ status: 'cancelled' }] });

  await shop.expectAgreement();
  await shop.expectCatalog({ categories: { '1': 'Categories', '2': 'Clothing < 1' } });
});
