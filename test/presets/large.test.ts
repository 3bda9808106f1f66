import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { presetFolder } from '../../src/app/init/presets.ts';
import { openShop } from '../../src/shop/index.ts';
import { createDatabase, forgetDatabase, query } from '../harness/database.ts';
import { sampled } from '../harness/sampled.ts';

/** `series`: rows of `n`, one an order. A table is large from 20,000 rows on. */
const series = 'from generate_series(101, 20600) n';
const at = `now() at time zone 'UTC' - n * interval '1 minute'`;
const uuid = (kind: number) => `('${kind}0000000-0000-4000-8000-' || lpad(n::text, 12, '0'))::uuid`;

/** Twenty thousand orders in each system, each with a line, a parcel and a payment. */
const manyOrders: Readonly<Record<string, string>> = {
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

test.each(sampled(Object.entries(manyOrders), 2))(
  'in a large shop on %s each query reads by an index, with those that the README of the preset names',
  async (name, sql) => {
    const url = await createDatabase();
    onTestFinished(() => forgetDatabase(url));
    const schema = await readFile(join(import.meta.dirname, name, 'schema.sql'), 'utf8');
    const readme = await readFile(join(presetFolder(name), 'README.md'), 'utf8');
    const indexes = [...readme.matchAll(/create index concurrently (on .+);/g)].map(([, one]) => `create index ${one}`);
    await query(url, `${schema}; ${sql}; ${indexes.join('; ')}; analyze`);
    // As it is set for disks without moving parts. The rows of this test are narrow, and a scan of them costs little.
    await query(url, `alter database ${new URL(url).pathname.slice(1)} set random_page_cost = 1.1`);
    const shop = openShop({ url, sqlDir: presetFolder(name), connections: 1, timeZone: 'UTC' });
    onTestFinished(() => shop.close());
    const costs = await shop.queryCosts();
    expect(costs.length).toBeGreaterThan(4);
    expect(costs.flatMap(({ purpose, scans }) => scans.map(({ table }) => `${purpose}: ${table}`))).toEqual([]);
  },
);
