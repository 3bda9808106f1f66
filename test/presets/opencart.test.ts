import { expect, test } from 'vitest';
import { hasMariadb } from '../harness/mariadb.ts';
import { each, openMariadbShop } from './preset-world.ts';

test.skipIf(!hasMariadb).for([
  ['opencart4', '21', ', master_id', ', 20'],
  // 3.0 has no variants: the mug is a product of its own.
  ['opencart3', '20', '', ''],
] as const)(
  'a life of orders in %s arrives at the service as the shop has it',
  async ([preset, mugId, master, ofMug]) => {
    const none = master && ', 0';
    const shop = await openMariadbShop(preset, { timeZone: 'America/Bogota', products: ['10', '20'] });
    await shop.given(`
    insert into oc_order_status values (1, 1, 'Pending'), (2, 1, 'Processing'), (3, 1, 'Shipped'), (17, 1, 'Cut &amp; &lt;engraved&gt;');
    insert into oc_customer values (7);
    insert into oc_category values (1, 0, 1), (2, 1, 0);
    insert into oc_category_description values (1, 1, 'Clothes &amp; shoes'), (2, 1, '&quot;Shirts&quot; &lt;XL&gt;'), (2, 2, 'Hemden');
    insert into oc_customer_group_description values (1, 1, 'Default'), (2, 1, '&lt;Gold&gt; &amp; co');
    insert into oc_order values (9, 0, 1, 'Not', 'Finished', 'x@example.com', '', 5, 0, :now, :now)`);
    await shop.expectCatalog({
      categories: { '1': 'Clothes & shoes', '2': '"Shirts" <XL> < 1 (hidden)' },
      grades: ['<Gold> & co', 'Default'],
    });

    /** A change of state writes the history, and no date into the order. */
    const state = (order: number, status: number) => `
    insert into oc_order_history (order_id, order_status_id, date_added) values (${order}, ${status}, :now);
    update oc_order set order_status_id = ${status} where order_id = ${order}`;
    /** OpenCart writes the lines of an order again whenever it is saved. */
    const lines = (firstId: number, mugs: number) => `
    delete from oc_order_product where order_id = 1; delete from oc_order_option where order_id = 1;
    insert into oc_order_product (order_product_id, order_id, product_id, name, model, quantity, price, total, tax${master}) values
      (${firstId}, 1, 10, 'Shirt', 'S', 2, 20, 40, 1${none}), (${firstId + 1}, 1, 10, 'Shirt', 'S', 1, 20, 20, 1${none}),
      (${firstId + 2}, 1, ${mugId}, 'Mug, red', 'M', ${mugs}, 10, ${mugs * 10}, 0${ofMug});
    insert into oc_order_option (order_id, order_product_id, name, value, type) values
      (1, ${firstId}, 'Size &amp; fit', '20&quot; &lt; L', 'select'), (1, ${firstId}, 'Text on it', 'For my love', 'text'), (1, ${firstId + 1}, 'Size', 'M', 'select')`;
    await shop.step(
      { feed: ['1'] },
      `insert into oc_order values (1, 7, 2, 'Ada &quot;A&amp;L&quot;', 'King &lt;3&gt; &amp;lt;', 'ada@example.com', '+1 212', 83, 0, :now, :now); ${lines(1, 2)}; ${state(1, 1)}`,
    );
    const ada = {
      user: '7',
      name: 'Ada "A&L" King <3> &lt;',
      phone: '+1 212',
      email: 'ada@example.com',
      grade: '<Gold> & co',
      created: '+1h',
    };
    const medium = { product: '10', price: 21, options: { Size: 'M' } };
    const large = { product: '10', price: 42, options: { 'Size & fit': '20" < L' } };
    const mugs = { product: '20', price: 20 };
    const unpaid = { status: 'unpaid' };
    expect(await shop.orders()).toEqual({
      '1': {
        ...ada,
        total: 83,
        lines: each(unpaid, medium, large, mugs),
      },
    });

    await shop.step({ feed: ['1'] }, state(1, 2));
    const before = await shop.world.atService('select id, product_id from reference_service.sub_orders order by id');
    await shop.step(
      { feed: ['1'] },
      `${lines(101, 1)}; update oc_order set total = 73, date_modified = :now where order_id = 1; ${state(1, 16)}; ${state(1, 2)}`,
    );
    expect(
      await shop.world.atService('select id, product_id from reference_service.sub_orders order by id'),
      'the same sub-orders, with their reviews',
    ).toEqual(before);
    const paid = { status: 'paid' };
    const mug = { ...mugs, price: 10 };
    expect((await shop.orders())['1']).toEqual({
      ...ada,
      total: 73,
      lines: each(paid, medium, large, mug),
    });

    // A state of the shop's own is passed on by its name.
    await shop.step({ feed: ['1'] }, state(1, 17));
    expect((await shop.orders())['1']?.lines[0]?.status).toBe('Cut & <engraved>');
    await shop.step({ feed: ['1'] }, state(1, 3));
    await shop.step({ feed: ['1'] }, state(1, 5));
    const finished = { status: 'delivery_finished', shipped: '+5h', delivered: '+6h' };
    expect((await shop.orders())['1']?.lines).toEqual(each(finished, medium, large, mug));

    // The mug comes back: first announced, then complete.
    // A comment repeats the state of the order.
    await shop.step({ feed: ['1'] }, `insert into oc_return values (1, 1, ${mugId}, 1, 1, :now, :now); ${state(1, 5)}`);
    expect((await shop.orders())['1']?.lines).toEqual(each(finished, medium, large, mug));
    await shop.step({ feed: ['1'] }, `update oc_return set return_status_id = 3, date_modified = :now`);
    expect((await shop.orders())['1']?.lines.map(({ status }) => status)).toEqual([
      finished.status,
      finished.status,
      'returned',
    ]);

    // Two of the three shirts come back: a return names the product, not the size. Then the third one does.
    await shop.step({ feed: ['1'] }, `insert into oc_return values (2, 1, 10, 2, 3, :now, :now)`);
    expect((await shop.orders())['1']?.lines).toMatchObject([finished, finished, { status: 'returned' }]);
    await shop.step({ feed: ['1'] }, `insert into oc_return values (3, 1, 10, 1, 3, :now, :now)`);
    const returned = (await shop.orders())['1']?.lines ?? [];
    expect(returned.map(({ status }) => status)).toEqual(['returned', 'returned', 'returned']);
    for (const line of returned) expect(line).not.toHaveProperty('delivered');

    // A guest orders; the phone number is corrected by hand, which no date shows; the order is cancelled, and deleted.
    await shop.step(
      { feed: ['2'] },
      `insert into oc_order values (2, 0, 1, 'Grace', 'Hopper', 'guest@example.com', '', 10, 0, :now, :now);
     insert into oc_order_product (order_id, product_id, name, model, quantity, price, total) values (2, 20, 'Mug', 'M', 1, 10, 10); ${state(2, 2)}`,
    );
    await shop.step({ feed: [] }, `update oc_order set telephone = '+1 646' where order_id = 2`);
    await shop.step({ feed: ['2'] }, state(2, 7));
    expect((await shop.orders())['2']).toEqual({
      name: 'Grace Hopper',
      phone: '+1 646',
      email: 'guest@example.com',
      total: 10,
      created: '+11h',
      lines: [{ product: '20', price: 10, status: 'cancelled' }],
    });
    // The customer's account is deleted, which writes nothing into the order.
    expect((await shop.orders())['1']).toMatchObject(ada);
    await shop.step({ feed: [] }, 'delete from oc_customer where customer_id = 7');
    expect((await shop.orders())['1']).not.toHaveProperty('email');
    expect((await shop.orders())['1']).not.toHaveProperty('phone');
    await shop.expectAgreement();

    await shop.given(`delete from oc_order where order_id = 2; delete from oc_order_product where order_id = 2;
    delete from oc_order_history where order_id = 2`);
    expect(await shop.absentOrders()).toEqual(['2']);
  },
);
