import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { presetFolder } from '../../src/app/init/presets.ts';
import { openShop } from '../../src/shop/index.ts';
import { createMysqlDatabase, hasMariadb } from '../harness/mariadb.ts';
import { sampled } from '../harness/sampled.ts';

/** MariaDB's table of numbers: `seq`, one an order. A table is large from 20,000 rows on. */
const series = 'from seq_101_to_20600';
const at = 'utc_timestamp() - interval seq minute';
const live = '0x0FA91CE3E96A4BC2BE4BD9CE752C3425';
const id = (expression = 'seq') => `unhex(lpad(${expression}, 32, '0'))`;
const itemsOfWoocommerce = `
  insert into wp_woocommerce_order_items select seq, 'Mug', 'line_item', seq ${series};
  insert into wp_woocommerce_order_itemmeta (order_item_id, meta_key, meta_value)
    select seq, k.meta_key, '10' ${series} join (select '_product_id' as meta_key union select '_qty' union select '_line_total' union select 'pa_color') k`;

/** Twenty thousand orders in each system, each with a line and, where it knows them, a parcel and a state. */
const manyOrders: Readonly<Record<string, string>> = {
  woocommerce: `
    insert into wp_wc_orders (id, status, type, total_amount, customer_id, date_created_gmt, date_updated_gmt, parent_order_id)
      select seq, 'wc-completed', 'shop_order', 1, 7, ${at}, ${at}, 0 ${series};
    insert into wp_wc_order_addresses (order_id, address_type, first_name) select seq, 'billing', 'Ada' ${series};
    insert into wp_wc_order_operational_data (order_id, date_completed_gmt) select seq, ${at} ${series};
    insert into wp_wc_orders_meta (order_id, meta_key, meta_value) select seq, '_wc_order_attribution_device_type', 'Mobile' ${series};
    ${itemsOfWoocommerce}`,
  'woocommerce-legacy': `
    insert into wp_posts (ID, post_type, post_status, post_date_gmt, post_modified_gmt) select seq, 'shop_order', 'wc-completed', ${at}, ${at} ${series};
    insert into wp_postmeta (post_id, meta_key, meta_value)
      select seq, k.meta_key, '1' ${series} join (select '_order_total' as meta_key union select '_customer_user' union select '_date_completed') k;
    ${itemsOfWoocommerce}`,
  magento2: `
    insert into sales_order (entity_id, state, store_id, base_grand_total, billing_address_id, increment_id, created_at, updated_at)
      select seq, 'complete', 1, 1, seq, lpad(seq, 9, '0'), ${at}, ${at} ${series};
    insert into sales_order_address (entity_id, parent_id) select seq, seq ${series};
    insert into sales_order_item (item_id, order_id, product_id, sku, qty_ordered, base_row_total) select seq, seq, 1, 'mug', 1, 1 ${series};
    insert into sales_order_status_history (parent_id, created_at) select seq, ${at} ${series};
    insert into sales_shipment (entity_id, order_id, created_at, updated_at) select seq, seq, ${at}, ${at} ${series};
    insert into sales_shipment_item (parent_id, qty, order_item_id) select seq, 1, seq ${series};
    insert into sales_shipment_track (parent_id, order_id, track_number, created_at) select seq, seq, 'T', ${at} ${series};
    insert into sales_creditmemo (order_id, created_at, updated_at) select seq, ${at}, ${at} ${series}`,
  prestashop: `
    insert into ps_orders (id_order, id_lang, id_customer, id_address_invoice, current_state, total_paid_tax_incl, date_add, date_upd)
      select seq, 1, seq, seq, 5, 1, ${at}, ${at} ${series};
    insert into ps_customer select seq, 3, 'Ada', 'L', 'a@example.com', 0, 0 ${series};
    insert into ps_address select seq, '1', '' ${series};
    insert into ps_order_detail (id_order_detail, id_order, product_id, product_attribute_id, product_name, product_quantity)
      select seq, seq, 1, 1, 'Mug', 1 ${series};
    insert into ps_order_history (id_order, id_order_state, date_add) select seq, 5, ${at} ${series};
    insert into ps_order_slip (id_order, amount, shipping_cost_amount, date_add, date_upd) select seq, 0, 0, ${at}, ${at} ${series};
    insert into ps_order_return (id_order, date_add, date_upd) select seq, ${at}, ${at} ${series};
    insert into ps_order_carrier (id_order, id_carrier, tracking_number, date_add) select seq, 1, 'T', ${at} ${series}`,
  shopware6: `
    insert into \`order\` (id, version_id, state_id, order_number, billing_address_id, price, order_date_time, created_at, updated_at)
      select ${id()}, ${live}, ${id('1')}, seq, ${id()}, '{"totalPrice": 1}', ${at}, ${at}, ${at} ${series};
    insert into order_customer select ${id()}, ${live}, null, ${id()}, ${live}, 'a@example.com', 'Ada', 'L', '1' ${series};
    insert into order_address select ${id()}, ${live}, '1' ${series};
    insert into order_line_item (id, version_id, order_id, order_version_id, quantity, type, payload, price, created_at, updated_at)
      select ${id()}, ${live}, ${id()}, ${live}, 1, 'product', '{"productNumber": "M"}', '{"totalPrice": 1}', ${at}, ${at} ${series};
    insert into order_delivery select ${id()}, ${live}, ${id()}, ${live}, ${id('1')}, ${id('1')}, '[]', ${at}, ${at} ${series};
    insert into order_delivery_position select ${id()}, ${live}, ${id()}, ${live}, ${id()}, ${live} ${series};
    insert into order_transaction select ${id()}, ${live}, ${id()}, ${live}, ${id('1')}, ${at}, null ${series};
    insert into state_machine_state values (${id('1')}, 'shipped', ${id('1')});
    insert into state_machine_history select ${id()}, ${id()}, ${live}, elt(1 + seq % 3, 'order', 'order_delivery', 'order_transaction'),
      ${id('1')}, ${id('1')}, ${at}, null ${series}`,
  opencart4: `
    insert into oc_customer select seq ${series};
    insert into oc_order select seq, seq, 1, 'Ada', 'L', 'a@example.com', '', 1, 5, ${at}, ${at} ${series};
    insert into oc_order_product (order_product_id, order_id, product_id, name, model) select seq, seq, 1, 'Mug', 'M' ${series};
    insert into oc_order_option (order_id, order_product_id, name, value, type) select seq, seq, 'Size', 'L', 'select' ${series};
    insert into oc_order_history (order_id, order_status_id, date_added) select seq, 5, ${at} ${series};
    insert into oc_return select seq, seq, 1, 1, 3, ${at}, ${at} ${series}`,
  youngcart5: `
    insert into g5_shop_order (od_id, mb_id, od_time, od_receipt_time, od_invoice_time) select seq, seq, ${at}, ${at}, ${at} ${series};
    insert into g5_member (mb_id) select seq ${series};
    insert into g5_shop_cart (od_id, it_id, ct_status, ct_history, ct_qty) select seq, '1', '완료', '', 1 ${series}`,
};

test.skipIf(!hasMariadb).each(sampled(Object.entries(manyOrders), 1))(
  'in a large shop on %s on MariaDB each query reads by an index, with those that the README of the preset names',
  async (name, sql) => {
    const database = await createMysqlDatabase();
    onTestFinished(() => database.drop());
    const schema = await readFile(join(import.meta.dirname, name, 'schema.sql'), 'utf8');
    const readme = await readFile(join(presetFolder(name), 'README.md'), 'utf8');
    const indexes = [...readme.matchAll(/^ +(create index .+;)$/gm)].map(([, one]) => one);
    const tables = [...schema.matchAll(/^create table (\S+)/gm)].map(([, table]) => table);
    const statements = `${schema} ${sql}; ${indexes.join(' ')} analyze table ${tables.join()}`;
    await database.query(`set sql_mode = ''; set time_zone = '+00:00'; ${statements}`);
    const shop = openShop({ url: database.url, sqlDir: presetFolder(name), connections: 1, timeZone: 'UTC' });
    onTestFinished(() => shop.close());
    const costs = await shop.queryCosts();
    expect(costs.length).toBeGreaterThan(4);
    expect(costs.flatMap(({ purpose, scans }) => scans.map(({ table }) => `${purpose}: ${table}`))).toEqual([]);
  },
);
