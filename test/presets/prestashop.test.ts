import { expect, test } from 'vitest';
import { hasMariadb } from '../harness/mariadb.ts';
import { each, openMariadbShop } from './preset-world.ts';

test.skipIf(!hasMariadb)('a life of orders in PrestaShop arrives at the service as the shop has it', async () => {
  const shop = await openMariadbShop('prestashop', { timeZone: 'Africa/Tunis', products: ['10', '20'] });
  await shop.given(`
    insert into ps_configuration (name, value) values ('PS_LANG_DEFAULT', '1');
    insert into ps_order_state values (2, 0, 1, 0), (3, 0, 1, 0), (4, 1, 1, 0), (5, 1, 1, 0), (6, 0, 0, 0), (7, 0, 0, 0), (10, 0, 0, 0);
    insert into ps_carrier values (2, 'Colissimo'), (3, 'Another');
    insert into ps_customer values (7, 3, 'Ada', 'Lovelace', 'ada@example.com', 0, 0), (8, 2, 'Grace', 'King', 'guest@example.com', 1, 0);
    insert into ps_address values (1, '+33 1', ''), (2, '', '+33 6');
    insert into ps_attribute values (5, 1); insert into ps_product_attribute_combination values (5, 4);
    insert into ps_attribute_lang values (5, 1, 'Rouge'), (5, 2, 'Red');
    insert into ps_attribute_group_lang values (1, 1, 'couleur', 'Couleur'), (1, 2, 'color', 'Color');
    insert into ps_category values (1, 0, 1, 0, 1), (2, 1, 1, 1, 1), (3, 2, 1, 2, 1), (4, 3, 1, 3, 0);
    insert into ps_category_lang values (2, 1, 1, 'Accueil'), (3, 1, 1, 'Mode'), (4, 1, 1, 'Homme'), (4, 1, 2, 'Men');
    insert into ps_group_lang values (1, 1, 'Visiteur'), (3, 1, 'Client'), (3, 2, 'Customer')`);
  await shop.expectCatalog({ categories: { '3': 'Mode', '4': 'Homme < 3 (hidden)' }, grades: ['Client', 'Visiteur'] });

  const state = (order: number, id: number) => `
    insert into ps_order_history (id_order, id_order_state, date_add) values (${order}, ${id}, :now);
    update ps_orders set current_state = ${id}, date_upd = :now where id_order = ${order}`;
  await shop.step(
    { feed: ['1'] },
    `insert into ps_orders (id_order, reference, id_lang, id_customer, id_address_invoice, current_state, total_paid_tax_incl, date_add, date_upd)
       values (1, 'XKBKNABJK', 2, 7, 1, 10, 65, :now, :now);
     insert into ps_order_detail (id_order_detail, id_order, product_id, product_attribute_id, product_name, product_quantity, total_price_tax_incl)
       values (1, 1, 10, 4, 'Shirt - Color : Red', 1, 35), (2, 1, 20, 0, 'Mug', 2, 25);
     insert into ps_order_carrier values (1, 1, 2, '', :now); ${state(1, 10)}`,
  );
  const ada = {
    user: '7',
    name: 'Ada Lovelace',
    phone: '+33 1',
    email: 'ada@example.com',
    grade: 'Client',
    created: '+1h',
  };
  const shirt = { product: '10', price: 35, options: { Color: 'Red' } };
  const mug = { product: '20', price: 25 };
  expect(await shop.orders()).toEqual({
    '1': {
      ...ada,
      total: 65,
      lines: each({ status: 'unpaid' }, shirt, mug),
    },
  });

  await shop.step({ feed: ['1'] }, state(1, 2));
  // Staff takes a mug out of the order: the total is that of the order, and PHP writes its date.
  await shop.step(
    { feed: ['1'] },
    `update ps_order_detail set product_quantity = 1, total_price_tax_incl = 12.5 where id_order_detail = 2;
     update ps_orders set total_paid_tax_incl = 52.5, date_upd = :now where id_order = 1`,
  );
  const oneMug = { ...mug, price: 12.5 };
  expect((await shop.orders())['1']).toEqual({
    ...ada,
    total: 52.5,
    lines: each({ status: 'paid' }, shirt, oneMug),
  });

  // The first parcel leaves; its number is written an hour later, and that moves no date.
  await shop.step({ feed: ['1'] }, state(1, 4));
  await shop.step({ feed: [] }, `update ps_order_carrier set tracking_number = '6A1' where id_order_carrier = 1`);
  await shop.step({ feed: ['1'] }, `insert into ps_order_carrier values (2, 1, 3, '6A2', :now)`);
  await shop.step({ feed: ['1'] }, state(1, 5));
  const parcel = { shipped: '+4h', delivered: '+7h', invoice: '6A1', carrier: 'Colissimo' };
  const finished = { ...parcel, status: 'delivery_finished' };
  expect((await shop.orders())['1']?.lines).toEqual(each(finished, shirt, oneMug));

  // The mug is refunded by a credit slip, which leaves the order as it is.
  await shop.step(
    { feed: ['1'] },
    `insert into ps_order_slip values (1, 1, 12.5, 2.5, 10, 2, :now, :now);
     update ps_order_detail set product_quantity_refunded = 1 where id_order_detail = 2`,
  );
  expect((await shop.orders())['1']).toMatchObject({
    total: 37.5,
    lines: [finished, { status: 'returned' }],
  });
  expect((await shop.orders())['1']?.lines[1]).not.toHaveProperty('delivered');

  // A guest pays in another currency, and the order is cancelled.
  await shop.step(
    { feed: ['2'] },
    `insert into ps_orders (id_order, reference, id_lang, id_customer, id_address_invoice, current_state, conversion_rate, total_paid_tax_incl, date_add, date_upd)
       values (2, 'ABCDEFGHI', 1, 8, 2, 2, 1.25, 25, :now, :now);
     insert into ps_order_detail (id_order_detail, id_order, product_id, product_name, product_quantity, total_price_tax_incl) values (3, 2, 20, 'Mug', 2, 25);
     ${state(2, 2)}`,
  );
  await shop.step({ feed: ['2'] }, state(2, 6));
  expect((await shop.orders())['2']).toEqual({
    name: 'Grace King',
    phone: '+33 6',
    email: 'guest@example.com',
    total: 20,
    created: '+9h',
    lines: [{ product: '20', price: 20, status: 'cancelled' }],
  });
  await shop.step(
    { feed: ['1'] },
    'update ps_customer set deleted = 1 where id_customer = 7; update ps_orders set date_upd = :now where id_order = 1',
  );
  expect((await shop.orders())['1']).not.toHaveProperty('email');
  await shop.expectAgreement();

  await shop.given('delete from ps_orders where id_order = 2');
  expect(await shop.absentOrders()).toEqual(['2']);
});
