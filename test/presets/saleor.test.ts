import { expect, test } from 'vitest';
import { each, openPresetWorld } from './preset-world.ts';

const order = (n: number) => `'00000000-0000-4000-8000-00000000000${n}'`;
const line = (n: number) => `'00000000-0000-4000-9000-00000000000${n}'`;
const event = (n: number, type: string) =>
  `insert into order_orderevent (order_id, date, type) values (${order(n)}, :instant, '${type}');`;

test('a life of orders in Saleor arrives at the service as the shop has it', async () => {
  const shop = await openPresetWorld('saleor', { products: ['10', '20', 'SHIRT-M'] });

  // A draft and an unconfirmed order are no orders yet.
  await shop.given(`
    insert into order_order values (${order(9)}, 9, 'draft', 'none', :instant, :instant, null, '', null, null, null, 5),
      (${order(8)}, 8, 'unconfirmed', 'none', :instant, :instant, null, '', null, null, null, 5)`);
  await shop.step(
    { feed: ['1'] },
    `insert into order_order values (${order(1)}, 1, 'unfulfilled', 'none', :instant, :instant, 7, 'ada@example.com', 1, 2, 'DHL', 70.5);
     insert into order_orderline values (${line(1)}, ${order(1)}, 11, 'SHIRT-M', 'UHJvZA==', 'M / Red', 3, 60.5),
       (${line(2)}, ${order(1)}, 21, null, 'UHJvZB==', '', 1, 10);
     ${event(1, 'placed')}`,
  );
  const shirts = { product: '10', price: 60.5, carrier: 'DHL', options: { Variant: 'M / Red' } };
  const mug = { product: '20', price: 10, carrier: 'DHL' };
  expect(await shop.orders()).toEqual({
    '1': {
      user: '7',
      name: 'Ada Lovelace',
      phone: '+44201',
      email: 'ada@example.com',
      total: 70.5,
      created: '+1h',
      lines: each({ status: 'unpaid' }, shirts, mug),
    },
  });

  await shop.step(
    { feed: ['1'] },
    `update order_order set charge_status = 'full', total_charged_amount = 70.5, updated_at = :instant where number = 1;
     insert into payment_transactionitem values (1, ${order(1)}, 0)`,
  );
  expect((await shop.orders())['1']?.lines.map(({ status }) => status)).toEqual(['paid', 'paid']);

  // Two shirts leave, then the rest. Only events move; the tracking number of the first parcel comes later.
  await shop.step(
    { feed: ['1'] },
    `insert into order_fulfillment values (1, ${order(1)}, 'fulfilled', '', :instant);
     insert into order_fulfillmentline values (1, ${line(1)}, 1, 2);
     ${event(1, 'fulfillment_fulfilled_items')}`,
  );
  expect(await shop.suggestedDeliveries('1')).toEqual({ 10: undefined, 20: undefined });
  await shop.step(
    { feed: ['1'] },
    `insert into order_fulfillment values (2, ${order(1)}, 'fulfilled', 'T2', :instant);
     insert into order_fulfillmentline values (2, ${line(1)}, 2, 1), (3, ${line(2)}, 2, 1);
     ${event(1, 'fulfillment_fulfilled_items')}`,
  );
  await shop.step(
    { feed: ['1'] },
    `update order_fulfillment set tracking_number = 'T1' where id = 1; ${event(1, 'tracking_updated')}`,
  );
  const sent = { status: 'delivery_started' };
  expect((await shop.orders())['1']?.lines).toEqual([
    { ...shirts, ...sent, shipped: '+3h', invoice: 'T1' },
    { ...mug, ...sent, shipped: '+4h', invoice: 'T2' },
  ]);
  expect(await shop.suggestedDeliveries('1')).toEqual({ 10: '+4h', 20: '+4h' });

  // The mug comes back: Saleor moves its pieces into a fulfilment of the return. Then it is refunded.
  await shop.step(
    { feed: ['1'] },
    `insert into order_fulfillment values (3, ${order(1)}, 'returned', '', :instant);
     insert into order_fulfillmentline values (4, ${line(2)}, 3, 1);
     delete from order_fulfillmentline where id = 3;
     ${event(1, 'fulfillment_returned')}`,
  );
  await shop.step(
    { feed: ['1'] },
    `update payment_transactionitem set refunded_value = 10; ${event(1, 'transaction_event')}`,
  );
  expect((await shop.orders())['1']).toMatchObject({ total: 60.5, lines: [sent, { status: 'returned' }] });
  expect(await shop.suggestedDeliveries('1')).toEqual({ 10: '+4h', 20: undefined });

  // A variant is deleted: the order keeps its SKU, and no date moves.
  await shop.step(
    { feed: [] },
    `delete from product_productvariant where id = 11; update order_orderline set variant_id = null where variant_id = 11`,
  );
  expect((await shop.orders())['1']?.lines.map(({ product }) => product)).toEqual(['20', 'SHIRT-M']);

  // A guest's order with an older payment is paid back and cancelled.
  await shop.step(
    { feed: ['2'] },
    `insert into order_order values (${order(2)}, 2, 'unfulfilled', 'full', :instant, :instant, null, 'guest@example.com', 2, null, null, 10, 10);
     insert into order_orderline values (${line(3)}, ${order(2)}, 21, null, null, '', 1, 10);
     insert into payment_payment values (1, ${order(2)})`,
  );
  await shop.step(
    { feed: ['2'] },
    `insert into payment_transaction values (1, 1, 'refund', true, 4), (2, 1, 'refund', false, 4); ${event(2, 'payment_refunded')}`,
  );
  expect((await shop.orders())['2']).toEqual({
    total: 6,
    name: 'Ada',
    email: 'guest@example.com',
    created: '+9h',
    lines: [{ product: '20', price: 10, status: 'paid' }],
  });
  await shop.step(
    { feed: ['2'] },
    `update order_order set status = 'canceled', total_charged_amount = 0, updated_at = :instant where number = 2`,
  );
  expect((await shop.orders())['2']).toMatchObject({ total: 0, lines: [{ status: 'cancelled' }] });

  await shop.expectAgreement();
  await shop.expectCatalog({ categories: { '1': 'Apparel', '2': 'Shirts < 1' } });
});
