import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { presetFolder } from '../../src/app/init/presets.ts';
import { openShop } from '../../src/shop/index.ts';
import { createDatabase, forgetDatabase, query } from '../harness/database.ts';
import { createMysqlDatabase, hasMariadb } from '../harness/mariadb.ts';
import { sampled } from '../harness/sampled.ts';

/** `series`: rows of `n`, one an order. A table is large from 20,000 rows on. */
const series = 'from generate_series(101, 20600) n';
const at = `now() at time zone 'UTC' - n * interval '1 minute'`;
const uuid = (kind: number) => `('${kind}0000000-0000-4000-8000-' || lpad(n::text, 12, '0'))::uuid`;

/** Twenty thousand orders in each system, each with a line, a parcel and a payment. */
const onPostgres: Readonly<Record<string, string>> = {
  medusa: `
    insert into customer select 'c' || n, null ${series};
    insert into "order" (id, display_id, email, customer_id, created_at, updated_at) select 'o' || n, n, 'a@example.com', 'c' || n, ${at}, ${at} ${series};
    insert into order_summary (order_id, totals) select 'o' || n, '{"current_order_total": 1}' ${series};
    insert into order_line_item (id, title, product_id, unit_price) select 'i' || n, 'Shirt', 'p1', 1 ${series};
    insert into order_item (order_id, version, item_id, quantity) select 'o' || n, 1, 'i' || n, 1 ${series};
    insert into order_line_item_adjustment (item_id, amount) select 'i' || n, 1 ${series};
    insert into order_line_item_tax_line (item_id, rate) select 'i' || n, 1 ${series};
    insert into order_transaction (order_id, amount, updated_at) select 'o' || n, 1, ${at} ${series};
    insert into fulfillment select 'f' || n, ${at}, null, null, ${at} ${series};
    insert into fulfillment_item (fulfillment_id, line_item_id, quantity) select 'f' || n, 'i' || n, 1 ${series};
    insert into fulfillment_label (fulfillment_id, tracking_number) select 'f' || n, 'T' ${series};
    insert into order_fulfillment select 'o' || n, 'f' || n ${series}`,
  saleor: `
    insert into order_order select ${uuid(1)}, n, 'fulfilled', 'full', ${at}, ${at}, null, 'a@example.com', 1, 1, 'DHL', 1, 1 ${series};
    insert into order_orderline select ${uuid(2)}, ${uuid(1)}, 11, null, null, '', 1, 1 ${series};
    insert into order_fulfillment select n, ${uuid(1)}, 'fulfilled', 'T', ${at} ${series};
    insert into order_fulfillmentline select n, ${uuid(2)}, n, 1 ${series};
    insert into order_orderevent (order_id, date, type) select ${uuid(1)}, ${at}, 'placed' ${series};
    insert into payment_payment select n, ${uuid(1)} ${series};
    insert into payment_transaction select n, n, 'refund', true, 0 ${series};
    insert into payment_transactionitem select n, ${uuid(1)} ${series}`,
  solidus: `
    insert into spree_orders select n, 'R' || n, 'complete', 1, 1, ${at}, ${at}, ${at}, 7, 'a@example.com', 1, 1, 'paid', 'shipped' ${series};
    insert into spree_line_items select n, n, 11, 1, 1, 0, ${at} ${series};
    insert into spree_shipments select n, n, 'shipped', 'T', ${at}, ${at} ${series};
    insert into spree_cartons select n, 'T', ${at}, 1 ${series};
    insert into spree_inventory_units select n, n, 11, n, n, 'shipped' ${series};
    insert into spree_payments select n, n, 1, 'completed' ${series};
    insert into spree_refunds select n, n, 0, ${at} ${series};
    insert into spree_return_items select n, n, 'cancelled' ${series}`,
  spree: `
    insert into spree_orders select n, 'R' || n, 'complete', 1, 1, ${at}, ${at}, 7, 'a@example.com', 1, 1, 'paid', 'shipped' ${series};
    insert into spree_line_items select n, n, 11, 1, 1, 0, ${at} ${series};
    insert into spree_shipments select n, n, 'shipped', 'T', ${at}, ${at} ${series};
    insert into spree_shipping_rates select n, n, 1, true, 0 ${series};
    insert into spree_inventory_units select n, n, n, 'shipped', 1 ${series};
    insert into spree_payments select n, n, 1, 'completed' ${series};
    insert into spree_refunds select n, n, 0 ${series};
    insert into spree_return_items select n, n, 'cancelled' ${series}`,
  vendure: `
    insert into customer select n, ${at}, null, 'Ada', 'L', null, 'a@example.com', null ${series};
    insert into "order" select n, ${at}, 'Regular', 'V' || n, 'PaymentSettled', ${at}, n, '{}', 1, 1 ${series};
    insert into order_line select n, ${at}, n, 11, 1, 1, 1, true, '[]', '[]' ${series};
    insert into fulfillment select n, ${at}, 'Shipped', 'T', 'DHL' ${series};
    insert into order_line_reference select n, 'FulfillmentLine', 1, n, n ${series};
    insert into history_entry select n, ${at}, ${at}, 'ORDER_FULFILLMENT_TRANSITION', '{}', 'OrderHistoryEntry', n, null ${series};
    insert into payment select n, ${at}, 1, 'Settled', n ${series};
    insert into refund select n, ${at}, 0, 'Settled', n ${series};
    insert into customer_groups_customer_group select n, 1 ${series}`,
};

/** MariaDB's table of numbers: `seq`, one an order. A table is large from 20,000 rows on. */
const seq = 'from seq_101_to_20600';
const atSeq = 'utc_timestamp() - interval seq minute';
const live = '0x0FA91CE3E96A4BC2BE4BD9CE752C3425';
const id = (expression = 'seq') => `unhex(lpad(${expression}, 32, '0'))`;
const itemsOfWoocommerce = `
  insert into wp_woocommerce_order_items select seq, 'Mug', 'line_item', seq ${seq};
  insert into wp_woocommerce_order_itemmeta (order_item_id, meta_key, meta_value)
    select seq, k.meta_key, '10' ${seq} join (select '_product_id' as meta_key union select '_qty' union select '_line_total' union select 'pa_color') k`;

/** Twenty thousand orders in each system, each with a line and, where it knows them, a parcel and a state. */
const onMariadb: Readonly<Record<string, string>> = {
  woocommerce: `
    insert into wp_wc_orders (id, status, type, total_amount, customer_id, date_created_gmt, date_updated_gmt, parent_order_id)
      select seq, 'wc-completed', 'shop_order', 1, 7, ${atSeq}, ${atSeq}, 0 ${seq};
    insert into wp_wc_order_addresses (order_id, address_type, first_name) select seq, 'billing', 'Ada' ${seq};
    insert into wp_wc_order_operational_data (order_id, date_completed_gmt) select seq, ${atSeq} ${seq};
    insert into wp_wc_orders_meta (order_id, meta_key, meta_value) select seq, '_wc_order_attribution_device_type', 'Mobile' ${seq};
    ${itemsOfWoocommerce}`,
  'woocommerce-legacy': `
    insert into wp_posts (ID, post_type, post_status, post_date_gmt, post_modified_gmt) select seq, 'shop_order', 'wc-completed', ${atSeq}, ${atSeq} ${seq};
    insert into wp_postmeta (post_id, meta_key, meta_value)
      select seq, k.meta_key, '1' ${seq} join (select '_order_total' as meta_key union select '_customer_user' union select '_date_completed') k;
    ${itemsOfWoocommerce}`,
  magento2: `
    insert into sales_order (entity_id, state, store_id, base_grand_total, billing_address_id, increment_id, created_at, updated_at)
      select seq, 'complete', 1, 1, seq, lpad(seq, 9, '0'), ${atSeq}, ${atSeq} ${seq};
    insert into sales_order_address (entity_id, parent_id) select seq, seq ${seq};
    insert into sales_order_item (item_id, order_id, product_id, sku, qty_ordered, base_row_total) select seq, seq, 1, 'mug', 1, 1 ${seq};
    insert into sales_order_status_history (parent_id, created_at) select seq, ${atSeq} ${seq};
    insert into sales_shipment (entity_id, order_id, created_at, updated_at) select seq, seq, ${atSeq}, ${atSeq} ${seq};
    insert into sales_shipment_item (parent_id, qty, order_item_id) select seq, 1, seq ${seq};
    insert into sales_shipment_track (parent_id, order_id, track_number, created_at) select seq, seq, 'T', ${atSeq} ${seq};
    insert into sales_creditmemo (order_id, created_at, updated_at) select seq, ${atSeq}, ${atSeq} ${seq}`,
  prestashop: `
    insert into ps_orders (id_order, id_lang, id_customer, id_address_invoice, current_state, total_paid_tax_incl, date_add, date_upd)
      select seq, 1, seq, seq, 5, 1, ${atSeq}, ${atSeq} ${seq};
    insert into ps_customer select seq, 3, 'Ada', 'L', 'a@example.com', 0, 0 ${seq};
    insert into ps_address select seq, '1', '' ${seq};
    insert into ps_order_detail (id_order_detail, id_order, product_id, product_attribute_id, product_name, product_quantity)
      select seq, seq, 1, 1, 'Mug', 1 ${seq};
    insert into ps_order_history (id_order, id_order_state, date_add) select seq, 5, ${atSeq} ${seq};
    insert into ps_order_slip (id_order, amount, shipping_cost_amount, date_add, date_upd) select seq, 0, 0, ${atSeq}, ${atSeq} ${seq};
    insert into ps_order_return (id_order, date_add, date_upd) select seq, ${atSeq}, ${atSeq} ${seq};
    insert into ps_order_carrier (id_order, id_carrier, tracking_number, date_add) select seq, 1, 'T', ${atSeq} ${seq}`,
  shopware6: `
    insert into \`order\` (id, version_id, state_id, order_number, billing_address_id, price, order_date_time, created_at, updated_at)
      select ${id()}, ${live}, ${id('1')}, seq, ${id()}, '{"totalPrice": 1}', ${atSeq}, ${atSeq}, ${atSeq} ${seq};
    insert into order_customer select ${id()}, ${live}, null, ${id()}, ${live}, 'a@example.com', 'Ada', 'L', '1' ${seq};
    insert into order_address select ${id()}, ${live}, '1' ${seq};
    insert into order_line_item (id, version_id, order_id, order_version_id, quantity, type, payload, price, created_at, updated_at)
      select ${id()}, ${live}, ${id()}, ${live}, 1, 'product', '{"productNumber": "M"}', '{"totalPrice": 1}', ${atSeq}, ${atSeq} ${seq};
    insert into order_delivery select ${id()}, ${live}, ${id()}, ${live}, ${id('1')}, ${id('1')}, '[]', ${atSeq}, ${atSeq} ${seq};
    insert into order_delivery_position select ${id()}, ${live}, ${id()}, ${live}, ${id()}, ${live} ${seq};
    insert into order_transaction select ${id()}, ${live}, ${id()}, ${live}, ${id('1')}, ${atSeq}, null ${seq};
    insert into state_machine_state values (${id('1')}, 'shipped', ${id('1')});
    insert into state_machine_history select ${id()}, ${id()}, ${live}, elt(1 + seq % 3, 'order', 'order_delivery', 'order_transaction'),
      ${id('1')}, ${id('1')}, ${atSeq}, null ${seq}`,
  opencart4: `
    insert into oc_customer select seq ${seq};
    insert into oc_order select seq, seq, 1, 'Ada', 'L', 'a@example.com', '', 1, 5, ${atSeq}, ${atSeq} ${seq};
    insert into oc_order_product (order_product_id, order_id, product_id, name, model) select seq, seq, 1, 'Mug', 'M' ${seq};
    insert into oc_order_option (order_id, order_product_id, name, value, type) select seq, seq, 'Size', 'L', 'select' ${seq};
    insert into oc_order_history (order_id, order_status_id, date_added) select seq, 5, ${atSeq} ${seq};
    insert into oc_return select seq, seq, 1, 1, 3, ${atSeq}, ${atSeq} ${seq}`,
  youngcart5: `
    insert into g5_shop_order (od_id, mb_id, od_time, od_receipt_time, od_invoice_time) select seq, seq, ${atSeq}, ${atSeq}, ${atSeq} ${seq};
    insert into g5_member (mb_id) select seq ${seq};
    insert into g5_shop_cart (od_id, it_id, ct_status, ct_history, ct_qty) select seq, '1', '완료', '', 1 ${seq}`,
};

/** The tables of a preset, with these orders, and the indexes that its README names. */
async function statementsOf(name: string, orders: string): Promise<{ schema: string; statements: string }> {
  const schema = await readFile(join(import.meta.dirname, name, 'schema.sql'), 'utf8');
  const readme = await readFile(join(presetFolder(name), 'README.md'), 'utf8');
  const indexes = [...readme.matchAll(/^ +(create index .+;)$/gm)].map(([, one = '']) =>
    one.replace('concurrently', ''),
  );
  return { schema, statements: `${schema} ${orders}; ${indexes.join(' ')}` };
}

async function readsByIndex(url: string, name: string): Promise<void> {
  const shop = openShop({ url, sqlDir: presetFolder(name), connections: 1, timeZone: 'UTC' });
  onTestFinished(() => shop.close());
  const costs = await shop.queryCosts();
  expect(costs.length).toBeGreaterThan(4);
  expect(costs.flatMap(({ purpose, scans }) => scans.map(({ table }) => `${purpose}: ${table}`))).toEqual([]);
}

test.each(sampled(Object.entries(onPostgres), 1))(
  'in a large shop on %s each query reads by an index',
  async (name, orders) => {
    const url = await createDatabase();
    onTestFinished(() => forgetDatabase(url));
    await query(url, `${(await statementsOf(name, orders)).statements} analyze`);
    // As it is set for disks without moving parts. The rows of this test are narrow, and a scan of them costs little.
    await query(url, `alter database ${new URL(url).pathname.slice(1)} set random_page_cost = 1.1`);
    await readsByIndex(url, name);
  },
);

test.skipIf(!hasMariadb).each(sampled(Object.entries(onMariadb), 1))(
  'in a large shop on %s on MariaDB each query reads by an index',
  async (name, orders) => {
    const database = await createMysqlDatabase();
    onTestFinished(() => database.drop());
    const { schema, statements } = await statementsOf(name, orders);
    const tables = [...schema.matchAll(/^create table (\S+)/gm)].map(([, table]) => table);
    const inUtc = `set sql_mode = ''; set time_zone = '+00:00'`;
    await database.query(`${inUtc}; ${statements} analyze table ${tables.join()}`);
    await readsByIndex(database.url, name);
  },
);
