import { expect, test } from 'vitest';
import { hasMariadb } from '../harness/mariadb.ts';
import { each, openMariadbShop } from './preset-world.ts';

const live = '0x0FA91CE3E96A4BC2BE4BD9CE752C3425';
const english = '0x2FBB5FE2E29A4D70AA5854CE7CE3E20B';
/** An id of Shopware, by a number of two digits. */
const id = (number: number) => `0x${String(number).padStart(2, '0').repeat(16)}`;
const code = (number: number) => id(number).slice(2);

const states = [
  'open',
  'in_progress',
  'completed',
  'cancelled',
  'shipped_partially',
  'shipped',
  'returned',
  'paid',
  'refunded',
  'chargeback',
];
const stateId = (name: string) => id(90 + states.indexOf(name));

let transitions = 0;
/** A change of state as Shopware makes it: a row of the history, and nothing but the state in the table itself. */
function moveTo(state: string, table: 'order' | 'order_delivery' | 'order_transaction', row: number): string {
  transitions += 1;
  return `update \`${table}\` set state_id = ${stateId(state)} where id = ${id(row)} and version_id = ${live};
    insert into state_machine_history values
      (unhex(lpad('${transitions}', 32, '0')), ${id(row)}, ${live}, '${table}', ${id(0)}, ${stateId(state)}, :now, null)`;
}

test.skipIf(!hasMariadb)('a life of orders in Shopware 6 arrives at the service as the shop has it', async () => {
  const shop = await openMariadbShop('shopware6', { timeZone: 'UTC', products: ['SW-SHIRT', 'SW-MUG'] });
  await shop.given(`
    insert into state_machine_state values ${states.map((name) => `(${stateId(name)}, '${name}', ${stateId(name)})`).join()};
    insert into customer values (${id(1)}, ${id(5)}, 0), (${id(2)}, ${id(5)}, 1);
    insert into customer_group_translation values (${id(5)}, ${english}, 'Gold'), (${id(5)}, ${id(88)}, 'Oro');
    insert into shipping_method_translation values (${id(6)}, ${english}, 'Express');
    insert into product values (${id(10)}, ${live}, null, 'SW-SHIRT'), (${id(11)}, ${live}, ${id(10)}, 'SW-SHIRT.1'), (${id(20)}, ${live}, null, 'SW-MUG');
    insert into category values (${id(30)}, ${live}, null, 1, 1, 'page'), (${id(31)}, ${live}, ${id(30)}, 1, 0, 'page'),
      (${id(32)}, ${live}, ${id(30)}, 1, 1, 'link'), (${id(31)}, ${id(99)}, ${id(30)}, 1, 1, 'page');
    insert into category_translation values (${id(30)}, ${live}, ${english}, 'Clothes'), (${id(31)}, ${live}, ${english}, 'Shirts'),
      (${id(31)}, ${id(99)}, ${english}, 'Draft'), (${id(31)}, ${live}, ${id(88)}, 'Camisas'), (${id(32)}, ${live}, ${english}, 'Blog')`);
  await shop.expectCatalog({
    categories: { [code(30)]: 'Clothes', [code(31)]: `Shirts < ${code(30)} (hidden)` },
    grades: ['Gold'],
  });

  const price = (total: number) =>
    `'{"totalPrice": ${total}, "calculatedTaxes": [{"tax": 1, "taxRate": 19, "price": ${total}}]}'`;
  const placeOrder = (
    row: number,
    number: string,
    customer: number,
    lines: string,
    options: { total: number; factor?: number; tax?: string },
  ) => `
    insert into \`order\` (id, version_id, state_id, order_number, currency_factor, billing_address_id, price, order_date_time, created_at)
      values (${id(row)}, ${live}, ${stateId('open')}, '${number}', ${options.factor ?? 1}, ${id(row)},
        '{"totalPrice": ${options.total}, "taxStatus": "${options.tax ?? 'gross'}"}', :now, :now);
    insert into order_address values (${id(row)}, ${live}, '+49 30 ${customer}');
    insert into order_customer values (${id(row)}, ${live}, ${id(customer)}, ${id(row)}, ${live}, 'c${customer}@example.com', 'Ada', 'King', '1000${customer}');
    insert into order_line_item (id, version_id, order_id, order_version_id, product_id, quantity, type, payload, price, created_at) values ${lines};
    insert into order_delivery values (${id(row)}, ${live}, ${id(row)}, ${live}, ${stateId('open')}, ${id(6)}, '[]', :now, null);
    insert into order_delivery_position select id, version_id, ${id(row)}, ${live}, id, version_id from order_line_item
      where order_id = ${id(row)} and type = 'product';
    insert into order_transaction values (${id(row)}, ${live}, ${id(row)}, ${live}, ${stateId('open')}, :now, null)`;
  await shop.step(
    { feed: ['10001'] },
    placeOrder(
      40,
      '10001',
      1,
      `(${id(41)}, ${live}, ${id(40)}, ${live}, ${id(11)}, 1, 'product',
         '{"productNumber": "SW-SHIRT.1", "options": [{"group": "Colour", "option": "Red"}, {"group": "Size", "option": "L"}]}', ${price(40)}, :now),
       (${id(42)}, ${live}, ${id(40)}, ${live}, ${id(20)}, 2, 'product', '{"productNumber": "SW-MUG", "options": []}', ${price(20.9)}, :now),
       (${id(43)}, ${live}, ${id(40)}, ${live}, null, 1, 'promotion', '{}', ${price(-5)}, :now)`,
      { total: 60.9 },
    ),
  );
  const ada = {
    user: '10001',
    name: 'Ada King',
    phone: '+49 30 1',
    email: 'c1@example.com',
    grade: 'Gold',
    created: '+1h',
  };
  const mug = { product: 'SW-MUG', price: 20.9, carrier: 'Express' };
  const shirt = { product: 'SW-SHIRT', price: 40, carrier: 'Express', options: { Colour: 'Red', Size: 'L' } };
  expect(await shop.orders()).toEqual({
    '10001': {
      ...ada,
      total: 60.9,
      lines: each({ status: 'unpaid' }, mug, shirt),
    },
  });

  // Staff edits the order: a draft with the same number comes, is merged, and goes. Before that the draft is not the
  // order.
  await shop.given(`
    insert into \`order\` (id, version_id, state_id, order_number, billing_address_id, price, order_date_time, created_at)
      select id, ${id(99)}, state_id, order_number, billing_address_id, '{"totalPrice": 1}', order_date_time, created_at
      from \`order\` where id = ${id(40)};
    insert into order_line_item (id, version_id, order_id, order_version_id, quantity, type, payload, price, created_at)
      select id, ${id(99)}, order_id, ${id(99)}, 9, type, payload, price, created_at from order_line_item where id = ${id(41)}`);
  await shop.step({ feed: ['10001'] }, moveTo('paid', 'order_transaction', 40));
  await shop.step(
    { feed: ['10001'] },
    `delete from \`order\` where version_id = ${id(99)}; delete from order_line_item where version_id = ${id(99)};
     update order_line_item set quantity = 1, price = ${price(10.45)}, updated_at = :now where id = ${id(42)};
     update \`order\` set price = '{"totalPrice": 50.45, "taxStatus": "gross"}', updated_at = :now where id = ${id(40)}`,
  );
  const oneMug = { ...mug, price: 10.45 };
  expect((await shop.orders())['10001']).toEqual({
    ...ada,
    total: 50.45,
    lines: each({ status: 'paid' }, oneMug, shirt),
  });

  // Neither the parcel nor the order moves its date with the state.
  await shop.step({ feed: ['10001'] }, moveTo('shipped_partially', 'order_delivery', 40));
  await shop.step(
    { feed: ['10001'] },
    `${moveTo('shipped', 'order_delivery', 40)};
     update order_delivery set tracking_codes = '["1Z1", "1Z2"]', updated_at = :now where id = ${id(40)}`,
  );
  await shop.step({ feed: ['10001'] }, moveTo('completed', 'order', 40));
  const sent = { shipped: '+4h', delivered: '+6h', invoice: '1Z1' };
  const finished = { ...sent, status: 'delivery_finished' };
  expect((await shop.orders())['10001']?.lines).toEqual(each(finished, oneMug, shirt));

  await shop.step(
    { feed: ['10001'] },
    `${moveTo('returned', 'order_delivery', 40)}; ${moveTo('refunded', 'order_transaction', 40)}`,
  );
  expect((await shop.orders())['10001']).toMatchObject({
    total: 50.45,
    lines: [{ status: 'returned' }, { status: 'returned' }],
  });
  for (const one of (await shop.orders())['10001']?.lines ?? []) expect(one).not.toHaveProperty('delivered');
  // The customer's account is deleted.
  await shop.step(
    { feed: ['10001'] },
    `update order_customer set customer_id = null where order_id = ${id(40)};
     update \`order\` set updated_at = :now where id = ${id(40)}`,
  );
  expect((await shop.orders())['10001']).not.toHaveProperty('email');

  // A guest pays net prices in another currency; the phone number is corrected, which no date shows; a first payment is
  // cancelled and a second one paid; the money goes back, by the shop or by the bank; the order is cancelled.
  await shop.step(
    { feed: ['10002'] },
    placeOrder(
      50,
      '10002',
      2,
      `(${id(51)}, ${live}, ${id(50)}, ${live}, null, 1, 'product', '{"productNumber": "SW-MUG"}', ${price(11)}, :now)`,
      { total: 12, factor: 1.2, tax: 'net' },
    ),
  );
  await shop.step({ feed: [] }, `update order_address set phone_number = '+49 40' where id = ${id(50)}`);
  await shop.step(
    { feed: ['10002'] },
    `${moveTo('cancelled', 'order_transaction', 50)};
     insert into order_transaction values (${id(60)}, ${live}, ${id(50)}, ${live}, ${stateId('open')}, :now, null);
     ${moveTo('paid', 'order_transaction', 60)}`,
  );
  expect((await shop.orders())['10002']?.lines).toMatchObject([{ status: 'paid' }]);
  for (const state of ['refunded', 'chargeback']) {
    await shop.step({ feed: ['10002'] }, moveTo(state, 'order_transaction', 60));
    expect((await shop.orders())['10002']?.lines, state).toMatchObject([{ status: 'returned' }]);
  }
  await shop.step({ feed: ['10002'] }, moveTo('cancelled', 'order', 50));
  expect((await shop.orders())['10002']).toEqual({
    name: 'Ada King',
    phone: '+49 40',
    email: 'c2@example.com',
    total: 10,
    created: '+9h',
    lines: [{ ...mug, price: 10, status: 'cancelled' }],
  });
  await shop.expectAgreement();

  await shop.given(
    `delete from \`order\` where id = ${id(50)}; delete from order_line_item where order_id = ${id(50)}`,
  );
  expect(await shop.absentOrders()).toEqual(['10002']);
});
