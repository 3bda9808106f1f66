import { expect, test } from 'vitest';
import { hasMariadb } from '../harness/mariadb.ts';
import { each, openMariadbShop } from './preset-world.ts';

/** How WooCommerce stores orders: in tables of their own (HPOS), or as posts. */
const storages = [
  {
    preset: 'woocommerce',
    drafts: `insert into wp_wc_orders (id, status, type, total_amount, date_created_gmt, date_updated_gmt) values
      (90, 'wc-checkout-draft', 'shop_order', 5, :now, :now), (91, 'auto-draft', 'shop_order', 0, :now, :now)`,
    ada: `insert into wp_wc_orders (id, status, type, total_amount, customer_id, billing_email, date_created_gmt, date_updated_gmt)
        values (101, 'wc-pending', 'shop_order', 64.90, 7, 'ada@example.com', :now, :now);
      insert into wp_wc_order_addresses (order_id, address_type, first_name, last_name, phone) values
        (101, 'billing', 'Ada', 'Lovelace', '+44 20 1'), (101, 'shipping', 'Somebody', 'Else', null);
      insert into wp_wc_order_operational_data (order_id) values (101);
      insert into wp_wc_orders_meta (order_id, meta_key, meta_value) values (101, '_wc_order_attribution_device_type', 'Tablet')`,
    state: (id: number, state: string) =>
      `update wp_wc_orders set status = '${state}', date_updated_gmt = :now where id = ${id}`,
    total: 'update wp_wc_orders set total_amount = 76.80 where id = 101',
    completed: 'update wp_wc_order_operational_data set date_completed_gmt = :now where order_id = 101',
    refund: (id: number, mugs: number) => `
      insert into wp_wc_orders (id, status, type, total_amount, parent_order_id, date_created_gmt, date_updated_gmt)
        values (${id}, 'wc-completed', 'shop_order_refund', ${mugs} * -11.90, 101, :now, :now)`,
    guest: (id: number) => `
      insert into wp_wc_orders (id, status, type, total_amount, customer_id, billing_email, date_created_gmt, date_updated_gmt)
        values (${id}, 'wc-processing', 'shop_order', 23.80, 0, 'guest@example.com', :now, :now)`,
    erase: `
      update wp_wc_orders set customer_id = 0, billing_email = 'deleted@site.invalid', date_updated_gmt = :now where id = 101;
      update wp_wc_order_addresses set first_name = '[deleted]', last_name = '[deleted]', phone = '+00 00 0'
        where order_id = 101 and address_type = 'billing';
      insert into wp_wc_orders_meta (order_id, meta_key, meta_value) values (101, '_anonymized', 'yes')`,
    remove: (id: number) => `delete from wp_wc_orders where id = ${id}`,
  },
  {
    preset: 'woocommerce-legacy',
    drafts: `insert into wp_posts (ID, post_type, post_status, post_date_gmt, post_modified_gmt) values
      (90, 'shop_order', 'auto-draft', :now, :now), (91, 'page', 'publish', :now, :now)`,
    ada: `insert into wp_posts (ID, post_type, post_status, post_date_gmt, post_modified_gmt)
        values (101, 'shop_order', 'wc-pending', :now, :now);
      insert into wp_postmeta (post_id, meta_key, meta_value) values
        (101, '_order_total', '64.90'), (101, '_customer_user', '7'), (101, '_billing_first_name', 'Ada'),
        (101, '_billing_last_name', 'Lovelace'), (101, '_billing_phone', '+44 20 1'), (101, '_billing_email', 'ada@example.com'),
        (101, '_wc_order_attribution_device_type', 'Tablet')`,
    state: (id: number, state: string) =>
      `update wp_posts set post_status = '${state}', post_modified_gmt = :now where ID = ${id}`,
    total: `update wp_postmeta set meta_value = '76.80' where post_id = 101 and meta_key = '_order_total'`,
    completed: `insert into wp_postmeta (post_id, meta_key, meta_value) values (101, '_date_completed', unix_timestamp(:now))`,
    refund: (id: number, mugs: number) => `
      insert into wp_posts (ID, post_type, post_status, post_parent, post_date_gmt, post_modified_gmt)
        values (${id}, 'shop_order_refund', 'wc-completed', 101, :now, :now);
      insert into wp_postmeta (post_id, meta_key, meta_value) values (${id}, '_refund_amount', ${mugs} * 11.90)`,
    guest: (id: number) => `
      insert into wp_posts (ID, post_type, post_status, post_date_gmt, post_modified_gmt)
        values (${id}, 'shop_order', 'wc-processing', :now, :now);
      insert into wp_postmeta (post_id, meta_key, meta_value) values
        (${id}, '_order_total', '23.80'), (${id}, '_customer_user', '0'), (${id}, '_billing_email', 'guest@example.com')`,
    erase: `
      update wp_posts set post_modified_gmt = :now where ID = 101;
      update wp_postmeta set meta_value = '0' where post_id = 101 and meta_key = '_customer_user';
      update wp_postmeta set meta_value = '[deleted]'
        where post_id = 101 and meta_key in ('_billing_first_name', '_billing_last_name');
      update wp_postmeta set meta_value = '+00 00 0' where post_id = 101 and meta_key = '_billing_phone';
      update wp_postmeta set meta_value = 'deleted@site.invalid' where post_id = 101 and meta_key = '_billing_email';
      insert into wp_postmeta (post_id, meta_key, meta_value) values (101, '_anonymized', 'yes')`,
    remove: (id: number) => `delete from wp_posts where ID = ${id}`,
  },
];

test.skipIf(!hasMariadb).each(storages)(
  'a life of orders in WooCommerce ($preset) arrives at the service as the shop has it',
  async ({ preset, drafts, ada: order, state, total, completed, refund, guest: place, erase, remove }) => {
    const shop = await openMariadbShop(preset, { timeZone: 'UTC', products: ['50', '60'] });
    await shop.given(`
    alter table wp_postmeta convert to character set utf8mb4 collate utf8mb4_unicode_ci;
    alter table wp_terms convert to character set utf8mb4 collate utf8mb4_unicode_ci;
    alter table wp_term_taxonomy convert to character set utf8mb4 collate utf8mb4_unicode_ci;
    alter table wp_woocommerce_order_itemmeta convert to character set utf8mb4 collate utf8mb4_unicode_520_ci;
    alter table wp_woocommerce_attribute_taxonomies convert to character set utf8mb4 collate utf8mb4_unicode_520_ci;
    insert into wp_terms values (1, 'Clothes &amp; shoes', 'clothes'), (2, 'Shirts', 'shirts'), (9, 'Dark red', 'dark-red'),
      (10, '점 &amp; 선', '%ec%a0%90-%ec%84%a0');
    insert into wp_term_taxonomy values (1, 1, 'product_cat', 0), (2, 2, 'product_cat', 1), (9, 9, 'pa_color', 0), (10, 10, 'pa_무늬', 0);
    insert into wp_woocommerce_attribute_taxonomies values (1, 'color', 'Colour'), (2, '무늬', '무늬');
    insert into wp_postmeta (post_id, meta_key, meta_value) values (51, 'attribute_pa_color', 'dark-red'), (51, 'attribute_size', ''),
      (51, 'attribute_%ec%82%ac%ec%9d%b4%ec%a6%88', ''),
      (51, 'attribute_%ec%83%89%ec%83%8112', '');
    ${drafts}`);

    await shop.step(
      { feed: ['101'] },
      `${order};
     insert into wp_woocommerce_order_items values
       (1, 'Shirt', 'line_item', 101), (2, 'Mug', 'line_item', 101), (3, 'Flat rate', 'shipping', 101), (4, 'Tip', 'line_item', 101);
     insert into wp_woocommerce_order_itemmeta (order_item_id, meta_key, meta_value) values
       (1, '_product_id', '50'), (1, '_variation_id', '51'), (1, '_qty', '1'), (1, '_line_total', '30'), (1, '_line_tax', '5.70'),
       (1, 'pa_color', 'dark-red'), (1, 'size', 'XL "slim"'), (1, 'Engraving', 'For my love'),
       (1, 'pa_%eb%ac%b4%eb%8a%ac', '%ec%a0%90-%ec%84%a0'), (1, '%ec%82%ac%ec%9d%b4%ec%a6%88', '특대'), (1, '%ec%83%89%ec%83%8112', '빨강'),
       (2, '_product_id', '60'), (2, '_variation_id', '0'), (2, '_qty', '2'), (2, '_line_total', '20'), (2, '_line_tax', '3.80'),
       (4, '_product_id', '0'), (4, '_qty', '1'), (4, '_line_total', '5'), (4, '_line_tax', '0')`,
    );
    const shirt = {
      product: '50',
      price: 35.7,
      options: {
        Colour: 'Dark red',
        size: 'XL "slim"',
        무늬: '점 & 선',
        사이즈: '특대',
        '%ec%83%89%ec%83%8112': '빨강',
      },
    };
    const mug = { product: '60', price: 23.8 };
    const ada = {
      user: '7',
      name: 'Ada Lovelace',
      phone: '+44 20 1',
      email: 'ada@example.com',
      device: 'mobile',
      created: '+1h',
    };
    expect(await shop.orders()).toEqual({
      '101': {
        ...ada,
        total: 64.9,
        lines: each({ status: 'unpaid' }, shirt, mug),
      },
    });

    await shop.step({ feed: ['101'] }, state(101, 'wc-processing'));
    expect((await shop.orders())['101']?.lines).toEqual(each({ status: 'paid' }, shirt, mug));

    // An edit of the lines in their box does not move the date of the order (woocommerce#28969).
    await shop.step(
      { feed: [] },
      `update wp_woocommerce_order_itemmeta set meta_value = '3' where order_item_id = 2 and meta_key = '_qty';
     update wp_woocommerce_order_itemmeta set meta_value = '30' where order_item_id = 2 and meta_key = '_line_total';
     update wp_woocommerce_order_itemmeta set meta_value = '5.70' where order_item_id = 2 and meta_key = '_line_tax'; ${total}`,
    );
    await shop.step({ feed: ['101'] }, `${state(101, 'wc-completed')}; ${completed}`);
    const finished = { status: 'delivery_finished', shipped: '+4h', delivered: '+4h' };
    const mugs = { ...mug, price: 35.7 };
    expect((await shop.orders())['101']).toEqual({
      ...ada,
      total: 76.8,
      lines: each(finished, shirt, mugs),
    });

    // A mug comes back, then the two others. The refunds are rows of their own; the order does not move.
    const refundMugs = (id: number, count: number) => `${refund(id, count)};
    insert into wp_woocommerce_order_items values (${id}, 'Mug', 'line_item', ${id});
    insert into wp_woocommerce_order_itemmeta (order_item_id, meta_key, meta_value) values
      (${id}, '_product_id', '60'), (${id}, '_qty', '-${count}'), (${id}, '_refunded_item_id', '2')`;
    await shop.step({ feed: ['101'] }, refundMugs(102, 1));
    expect((await shop.orders())['101']).toMatchObject({ total: 64.9, lines: [finished, finished] });
    await shop.step({ feed: ['101'] }, refundMugs(103, 2));
    expect((await shop.orders())['101']).toMatchObject({
      total: 41.1,
      lines: [finished, { status: 'returned' }],
    });
    expect((await shop.orders())['101']?.lines[1]).not.toHaveProperty('delivered');

    // A refund that is deleted leaves no trace (woocommerce#26532).
    await shop.step({ feed: [] }, remove(103));
    expect((await shop.orders())['101']).toMatchObject({ total: 64.9, lines: [finished, finished] });

    // The customer has the personal data of the order erased: placeholders take its place.
    await shop.step({ feed: ['101'] }, erase);
    const erased = (await shop.orders())['101'];
    expect(erased).toMatchObject({ total: 64.9, created: '+1h', lines: [finished, finished] });
    for (const field of ['user', 'name', 'phone', 'email']) expect(erased).not.toHaveProperty(field);

    // A guest orders and cancels; another order of a guest ends in the trash, then it is deleted permanently.
    const guestOrder = (id: number) => `${place(id)};
    insert into wp_woocommerce_order_items values (${id}, 'Mug', 'line_item', ${id});
    insert into wp_woocommerce_order_itemmeta (order_item_id, meta_key, meta_value) values
      (${id}, '_product_id', '60'), (${id}, '_qty', '2'), (${id}, '_line_total', '20'), (${id}, '_line_tax', '3.80')`;
    await shop.step({ feed: ['201', '202'] }, `${guestOrder(201)}; ${guestOrder(202)}`);
    await shop.step({ feed: ['201'] }, state(201, 'wc-cancelled'));
    const guest = { email: 'guest@example.com', total: 23.8, created: '+9h' };
    expect((await shop.orders())['201']).toEqual({ ...guest, lines: [{ ...mug, status: 'cancelled' }] });
    await shop.expectAgreement();

    await shop.step({ feed: ['202'] }, state(202, 'trash'));
    // The trash is a deletion: such an order has no contact.
    const { email: _, ...nobody } = guest;
    expect((await shop.orders())['202']).toEqual({ ...nobody, lines: [{ ...mug, status: 'paid' }] });
    await shop.given(`${remove(202)}; delete from wp_woocommerce_order_items where order_id = 202`);
    expect(await shop.absentOrders()).toEqual(['202']);

    await shop.expectCatalog({ categories: { '1': 'Clothes & shoes', '2': 'Shirts < 1' } });
  },
);
