import { expect, test } from 'vitest';
import { hasMariadb } from '../harness/mariadb.ts';
import { each, openMariadbShop } from './preset-world.ts';

test.skipIf(!hasMariadb)('a life of orders in Magento 2 arrives at the service as the shop has it', async () => {
  const shop = await openMariadbShop('magento2', { products: ['shirt', 'mug'] });
  await shop.given(`
    insert into catalog_product_entity values (10, 'shirt'), (11, 'shirt-red-l'), (20, 'mug');
    insert into customer_group values (1, 'General'), (2, 'Gold');
    insert into eav_entity_type values (3, 'catalog_category');
    insert into eav_attribute values (45, 3, 'name'), (46, 3, 'is_active');
    insert into catalog_category_entity values (1, 0, 0), (2, 1, 1), (3, 2, 2), (4, 3, 3);
    insert into catalog_category_entity_varchar (attribute_id, store_id, entity_id, value) values
      (45, 0, 1, 'Root'), (45, 0, 2, 'Default'), (45, 0, 3, 'Clothes'), (45, 0, 4, 'Shirts'), (45, 1, 4, 'Hemden');
    insert into catalog_category_entity_int (attribute_id, store_id, entity_id, value) values (46, 0, 3, 1)`);
  await shop.expectCatalog({ categories: { '3': 'Clothes', '4': 'Shirts < 3 (hidden)' }, grades: ['General', 'Gold'] });

  // A configurable product is two rows: only the first one is a line.
  await shop.step(
    { feed: ['000000001'] },
    `insert into sales_order_address values (1, 1, 'Lovelace', 'Ada', '+44 20 1', 'billing');
     insert into sales_order (entity_id, state, store_id, customer_id, base_grand_total, billing_address_id, customer_group_id,
         increment_id, customer_email, customer_firstname, customer_lastname, created_at, updated_at)
       values (1, 'new', 1, 7, 99, 1, 2, '000000001', 'ada@example.com', 'Ada', 'Lovelace', :now, :now);
     insert into sales_order_item (item_id, order_id, parent_item_id, product_id, product_options, sku, qty_ordered,
         base_row_total, base_tax_amount, base_discount_amount) values
       (1, 1, null, 10, '{"attributes_info":[{"label":"Colour","value":"Red"},{"label":"Size","value":"L"}]}', 'shirt-red-l', 2, 60, 6, 10),
       (2, 1, 1, 11, '[]', 'shirt-red-l', 2, 0, 0, 0),
       (3, 1, null, 20, '{"info_buyRequest":{}}', 'mug', 2, 30, 3, 0)`,
  );
  const ada = {
    user: '7',
    name: 'Ada Lovelace',
    phone: '+44 20 1',
    email: 'ada@example.com',
    grade: 'Gold',
    created: '+1h',
  };
  const mug = { product: 'mug', price: 33 };
  const shirt = { product: 'shirt', price: 56, options: { Colour: 'Red', Size: 'L' } };
  expect(await shop.orders()).toEqual({
    '000000001': {
      ...ada,
      total: 99,
      lines: each({ status: 'unpaid' }, mug, shirt),
    },
  });
  const statuses = async (code = '000000001') => (await shop.orders())[code]?.lines.map(({ status }) => status);

  await shop.step(
    { feed: ['000000001'] },
    `update sales_order_item set qty_invoiced = qty_ordered where order_id = 1;
     update sales_order set state = 'processing', updated_at = :now where entity_id = 1`,
  );
  expect(await statuses()).toEqual(['paid', 'paid']);

  // The first parcel has the shirts and one mug. The date of the order does not move (magento2#10287), that of the
  // parcel does.
  const ship = (id: number, items: string) => `
    insert into sales_shipment values (${id}, 1, :now, :now);
    insert into sales_shipment_item (parent_id, qty, order_item_id) values ${items}`;
  const keepDates = 'updated_at = updated_at';
  await shop.step(
    { feed: ['000000001'] },
    `${ship(1, '(1, 2, 1), (1, 1, 3)')};
     update sales_order_item set qty_shipped = 2 where item_id = 1; update sales_order_item set qty_shipped = 1 where item_id = 3`,
  );
  expect(await statuses()).toEqual(['delivery_preparing', 'delivery_started']);
  // The number of the parcel comes an hour later, and is corrected once more.
  await shop.step(
    { feed: ['000000001'] },
    `insert into sales_shipment_track values (1, 1, 1, '1Z1', 'UPS', :now, :now)`,
  );
  await shop.step({ feed: [] }, `update sales_shipment_track set track_number = '1Z9', updated_at = :now`);
  await shop.step(
    { feed: ['000000001'] },
    `${ship(2, '(2, 1, 3)')}; insert into sales_shipment_track values (2, 2, 1, '2Z1', 'DHL', :now, :now);
     update sales_order_item set qty_shipped = 2 where item_id = 3;
     update sales_order set state = 'complete', updated_at = :now where entity_id = 1`,
  );
  const sent = { status: 'delivery_started', shipped: '+3h', invoice: '1Z9', carrier: 'UPS' };
  expect((await shop.orders())['000000001']?.lines).toEqual(each(sent, mug, shirt));

  // One mug is refunded, then the other one.
  const refund = (id: number) => `
    insert into sales_creditmemo values (${id}, 1, 16.5, :now, :now);
    update sales_order_item set qty_refunded = ${id} where item_id = 3;
    update sales_order set base_total_refunded = ${id} * 16.5, ${keepDates} where entity_id = 1`;
  await shop.step({ feed: ['000000001'] }, refund(1));
  expect((await shop.orders())['000000001']).toMatchObject({ total: 82.5, lines: [sent, sent] });
  expect(await shop.suggestedDeliveries('000000001')).toEqual({ mug: '+6h', shirt: '+3h' });
  await shop.step({ feed: ['000000001'] }, refund(2));
  expect((await shop.orders())['000000001']).toMatchObject({
    total: 66,
    lines: [{ ...sent, status: 'returned' }, sent],
  });
  expect(await shop.suggestedDeliveries('000000001')).toEqual({ mug: undefined, shirt: '+3h' });

  // A guest's order is edited: Magento cancels it and makes another one.
  const guestOrder = (id: number, code: string, price: number) => `
    insert into sales_order_address values (${id}, ${id}, 'King', 'Grace', null, 'billing');
    insert into sales_order (entity_id, state, store_id, base_grand_total, billing_address_id, customer_group_id, increment_id,
        customer_email, customer_is_guest, created_at, updated_at)
      values (${id}, 'new', 1, ${price}, ${id}, 0, '${code}', 'guest@example.com', 1, :now, :now);
    insert into sales_order_item (item_id, order_id, product_id, sku, qty_ordered, base_row_total) values (${id}0, ${id}, 20, 'mug', 2, ${price})`;
  await shop.step({ feed: ['000000002'] }, guestOrder(2, '000000002', 15));
  await shop.step(
    { feed: ['000000002', '000000002-1'] },
    `${guestOrder(3, '000000002-1', 14)};
     update sales_order_item set qty_canceled = 2 where order_id = 2;
     update sales_order set state = 'canceled', base_total_canceled = 15, updated_at = :now where entity_id = 2`,
  );
  const guest = { name: 'Grace King', email: 'guest@example.com' };
  expect(await shop.orders()).toMatchObject({
    '000000002': { ...guest, total: 0, lines: [{ product: 'mug', price: 15, status: 'cancelled' }] },
    '000000002-1': { ...guest, total: 14, lines: [{ product: 'mug', price: 14, status: 'unpaid' }] },
  });
  // One of the two mugs is shipped, the other one is cancelled.
  await shop.step(
    { feed: ['000000002-1'] },
    `insert into sales_shipment values (3, 3, :now, :now);
     insert into sales_shipment_item (parent_id, qty, order_item_id) values (3, 1, 30);
     update sales_order_item set qty_invoiced = 1, qty_shipped = 1, qty_canceled = 1 where order_id = 3;
     update sales_order set state = 'complete', base_total_canceled = 7, updated_at = :now where entity_id = 3`,
  );
  expect(await statuses('000000002-1')).toEqual(['delivery_started']);
  // The customer's account is deleted.
  const deleted = 'update sales_order set customer_id = null, updated_at = :now where entity_id = 1';
  await shop.step({ feed: ['000000001'] }, deleted);
  expect((await shop.orders())['000000001']).not.toHaveProperty('email');
  await shop.expectAgreement();

  await shop.given('delete from sales_order where entity_id = 3; delete from sales_order_item where order_id = 3');
  expect(await shop.absentOrders()).toEqual(['000000002-1']);
});
