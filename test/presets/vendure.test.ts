import { expect, test } from 'vitest';
import { createMysqlDatabase, hasMariadb } from '../harness/mariadb.ts';
import { each, openPresetWorld, type PresetWorld } from './preset-world.ts';

const moves = (now: string, fulfillment: number, to: string) =>
  `update fulfillment set state = '${to}', "updatedAt" = ${now} where id = ${fulfillment};
   insert into history_entry ("createdAt", "updatedAt", type, data, discriminator, "orderId") values (${now}, ${now},
     'ORDER_FULFILLMENT_TRANSITION', '${JSON.stringify({ fulfillmentId: fulfillment, from: '?', to })}', 'OrderHistoryEntry', 1);`;

test('a life of orders in Vendure on Postgres arrives at the service as the shop has it', async () => {
  // Vendure's process in India, Postgres in its own zone: what its now() writes into a column without zone.
  const shop = await openPresetWorld('vendure', { timeZone: 'Asia/Kolkata', products: ['10', '20'] });
  await lifeInVendure(shop, ':instant::timestamptz::timestamp');
});

test.skipIf(!hasMariadb)(
  'a life of orders in Vendure on MariaDB arrives at the service as the shop has it',
  async () => {
    // Vendure's process writes UTC, and MariaDB's own clock is that of New York.
    const database = await createMysqlDatabase('mariadb', { timeZone: 'America/New_York' });
    const run = (sql: string) => database.query(`set sql_mode = 'ANSI_QUOTES'; ${sql}`);
    const shop = await openPresetWorld('vendure-mysql', {
      timeZone: 'UTC',
      products: ['10', '20'],
      database: { url: database.url, run, drop: database.drop },
    });
    await lifeInVendure(shop, `convert_tz(:now, '+00:00', @@global.time_zone)`);
  },
);

/** @param now what the database's now() writes. */
async function lifeInVendure(shop: PresetWorld, now: string): Promise<void> {
  await shop.syncCatalog();

  // A cart is no order, and neither is the aggregate of a marketplace. The shirts: 20.00 net a piece, 3.00 off, 20 %
  // tax.
  await shop.given(`insert into "order" values (9, '2020-01-01', 'Regular', 'CART', 'AddingItems', null, null, '{}', 0, 0),
    (10, '2020-01-01', 'Aggregate', 'AGG', 'PaymentSettled', :now, null, '{}', 100, 0)`);
  await shop.step(
    { feed: ['V1'] },
    `insert into "order" values (1, ${now}, 'Regular', 'V1', 'PaymentSettled', :now, 7, '{"phoneNumber":"+43 1"}', 7840, 500);
     insert into order_line values
       (1, ${now}, 1, 11, 3, 3, 2000, false, '[{"amount":-300,"type":"PROMOTION"}]', '[{"taxRate":20}]'),
       (2, ${now}, 1, 21, 1, 1, 1000, true, '[]', '[{"taxRate":20}]');
     insert into payment values (1, ${now}, 8340, 'Settled', 1)`,
  );
  const shirts = { product: '10', price: 68.4, options: { Size: 'M' } };
  const mug = { product: '20', price: 10 };
  const ada = { user: 'ada@login', name: 'Ada Lovelace', phone: '+43 1', email: 'ada@example.com', grade: 'Gold' };
  expect(await shop.orders()).toEqual({
    V1: {
      ...ada,
      total: 83.4,
      created: '+1h',
      lines: each({ status: 'paid' }, shirts, mug),
    },
  });

  // Two parcels: two shirts, then one shirt with the mug. No date of the order moves.
  await shop.step(
    { feed: ['V1'] },
    `insert into fulfillment values (1, ${now}, 'Pending', 'T1', 'DHL'), (2, ${now}, 'Pending', 'T2', 'UPS');
     insert into order_line_reference (discriminator, quantity, "orderLineId", "fulfillmentId")
     values ('FulfillmentLine', 2, 1, 1), ('FulfillmentLine', 1, 1, 2), ('FulfillmentLine', 1, 2, 2), ('RefundLine', 1, 2, null)`,
  );
  expect((await shop.orders()).V1?.lines[0]?.status).toBe('delivery_preparing');
  await shop.step({ feed: ['V1'] }, moves(now, 1, 'Shipped'));
  await shop.step({ feed: ['V1'] }, moves(now, 1, 'Delivered'));
  const sent = { carrier: 'DHL', shipped: '+3h', invoice: 'T1' };
  expect((await shop.orders()).V1?.lines).toEqual([
    { ...shirts, ...sent, status: 'delivery_started' },
    { ...mug, status: 'delivery_preparing' },
  ]);
  await shop.step({ feed: ['V1'] }, moves(now, 2, 'Delivered'));
  const arrived = { status: 'delivery_finished', delivered: '+5h' };
  expect((await shop.orders()).V1?.lines).toEqual([
    { ...shirts, ...sent, ...arrived },
    { ...mug, ...arrived, carrier: 'UPS', shipped: '+5h', invoice: 'T2' },
  ]);

  // The mug comes back and is cancelled and refunded; then 5.00 are paid back out of goodwill.
  await shop.step(
    { feed: ['V1'] },
    `update order_line set quantity = 0, "updatedAt" = ${now} where id = 2;
     update "order" set "subTotalWithTax" = 6840 where id = 1;
     insert into refund values (1, ${now}, 1000, 'Settled', 1)`,
  );
  expect((await shop.orders()).V1).toMatchObject({ total: 73.4, lines: [{}, { status: 'returned', price: 10 }] });
  await shop.step(
    { feed: ['V1'] },
    `insert into refund values (2, ${now}, 500, 'Settled', 1), (3, ${now}, 900, 'Failed', 1)`,
  );
  expect((await shop.orders()).V1?.total).toBe(68.4);

  // The customer leaves a group. The process writes the "createdAt" of a customer's history in its own zone.
  await shop.step(
    { feed: ['V1'] },
    `delete from customer_groups_customer_group where "customerId" = 7 and "customerGroupId" = 1;
     insert into history_entry ("createdAt", "updatedAt", type, data, discriminator, "customerId")
     values ('2020-01-01', ${now}, 'CUSTOMER_REMOVED_FROM_GROUP', '{"groupName":"Gold"}', 'CustomerHistoryEntry', 7)`,
  );
  expect((await shop.orders()).V1?.grade).toBe('Silver');

  // The customer's name, an option's name, the deletion of the customer.
  await shop.step({ feed: ['V1'] }, `update customer set "lastName" = 'King', "updatedAt" = ${now} where id = 7`);
  expect((await shop.orders()).V1?.name).toBe('Ada King');
  await shop.step({ feed: [] }, `update product_option_translation set name = 'Medium' where id = 2`);
  expect((await shop.orders()).V1?.lines[0]?.options).toEqual({ Size: 'Medium' });
  await shop.step({ feed: ['V1'] }, `update customer set "deletedAt" = :now, "updatedAt" = ${now} where id = 7`);
  const deleted = (await shop.orders()).V1;
  for (const field of ['user', 'phone', 'email']) expect(deleted).not.toHaveProperty(field);

  // A guest's order, cancelled in part, then as a whole before anything left.
  await shop.step(
    { feed: ['V2'] },
    `insert into "order" values (2, ${now}, 'Regular', 'V2', 'PaymentAuthorized', :now, 8, '{}', 2000, 0);
     insert into order_line values (3, ${now}, 2, 21, 2, 2, 1000, true, '[{"amount":-200,"type":"PROMOTION"}]', '[]');
     insert into payment values (2, ${now}, 1800, 'Authorized', 2)`,
  );
  await shop.step(
    { feed: ['V2'] },
    `update order_line set quantity = 1, "updatedAt" = ${now} where id = 3; update "order" set "subTotalWithTax" = 900 where id = 2`,
  );
  expect((await shop.orders()).V2).toEqual({
    total: 9,
    name: 'Gus Guest',
    email: 'gus@example.com',
    created: '+12h',
    lines: [{ ...mug, price: 9, status: 'paid' }],
  });
  // A change of the order adds a mug for 4.00, which is cancelled with the rest: its pieces are in the change only.
  await shop.step(
    { feed: ['V2'] },
    `insert into order_line values (4, ${now}, 2, 21, 1, 0, 400, true, '[]', '[]');
     insert into order_line_reference (discriminator, quantity, "orderLineId", "fulfillmentId")
     values ('OrderModificationLine', 1, 4, null), ('OrderModificationLine', -1, 3, null);
     update "order" set "subTotalWithTax" = 1300 where id = 2`,
  );
  await shop.step(
    { feed: ['V2'] },
    `update order_line set quantity = 0, "updatedAt" = ${now} where id in (3, 4);
     update "order" set state = 'Cancelled', "subTotalWithTax" = 0, "updatedAt" = ${now} where id = 2`,
  );
  expect((await shop.orders()).V2).toMatchObject({
    total: 0,
    lines: [
      { status: 'cancelled', price: 4 },
      { status: 'cancelled', price: 18 },
    ],
  });

  await shop.expectAgreement();
  await shop.expectCatalog({ categories: { '2': 'Kleidung', '3': 'Shirts < 2 (hidden)' }, grades: ['Gold', 'Silver'] });
}
