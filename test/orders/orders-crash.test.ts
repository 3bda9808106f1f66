import { Kysely, PostgresDialect } from 'kysely';
import pLimit from 'p-limit';
import pg from 'pg';
import { beforeAll, expect, test } from 'vitest';
import { addCounts } from '../../src/base/counts.ts';
import { openLog } from '../../src/base/log.ts';
import { pushOrders } from '../../src/orders/push/push-slice.ts';
import { concludeChangedOrders, nextChangedOrders, planChangedOrders } from '../../src/orders/select/changed-orders.ts';
import { startReferenceService } from '../../src/sandbox/reference-service/index.ts';
import { openShop } from '../../src/shop/index.ts';
import type { Db } from '../../src/warehouse/index.ts';
import { waitingLines } from '../../src/warehouse/orders/due-orders.ts';
import { openOrderStore } from '../../src/warehouse/orders/order-store.ts';
import { cloneDatabase, createDatabase, queryAgain } from '../harness/database.ts';
import { alive, type Calls, deadlyPool, openDeadlyApi } from '../harness/deadly-pool.ts';
import { createOrderShop, orderShopQueries, serviceState } from '../harness/order-shop.ts';
import { type FaultMode, startFaultProxy } from '../harness/proxy.ts';
import { sampled } from '../harness/sampled.ts';
import { usualRights } from '../harness/sync-orders.ts';

const before = `
  insert into o (code, user_email) values ('A', 'a@example.com'), ('B', null), ('C', null), ('D', null);
  insert into l (order_code, line_code, product_id, price) values
    ('A', '1', 1, 10), ('A', '2', 2, 20), ('B', '1', 3, 30), ('B', '2', 3, 30), ('C', '1', 4, 40), ('D', 'old', 5, 50)`;
/** New, changed, unchanged and removed lines; a line whose code was renewed; two equal lines; an unknown product. */
const after = `
  update l set price = 11.5, invoice = 'X1' where order_code = 'A' and line_code = '1';
  insert into l (order_code, line_code, product_id) values ('A', '3', 1), ('E', '1', 6), ('E', '2', 6);
  insert into l (order_code, line_code, product_code) values ('E', '3', 'not known yet');
  delete from l where order_code = 'B' and line_code = '2';
  update l set line_code = 'new' where order_code = 'D';
  insert into o (code) values ('E');
  update o set updated_at = now() - interval '1 minute' where code <> 'C'`;

let queries: string;
/** Templates of the three databases after the first push, before the second. */
const templates = { shop: '', warehouse: '', service: '' };

beforeAll(async () => {
  queries = await orderShopQueries();
  const urls = {
    shop: await createDatabase(),
    warehouse: await createDatabase('migrated'),
    service: await createDatabase(),
  };
  await createOrderShop(urls.shop);
  await queryAgain(urls.shop, before);
  const first = await startReferenceService({ databaseUrl: urls.service });
  await run(urls, first.url, alive());
  await first.close();
  await queryAgain(urls.shop, after);
  Object.assign(templates, urls);
});

type Urls = typeof templates;

/** One whole run, in this process. A death ends it: from then on no statement and no request of it has any effect. */
async function run(urls: Urls, serviceUrl: string, calls: Calls): Promise<Record<string, number>> {
  const pool = new pg.Pool({ connectionString: urls.warehouse, max: 4, types: { getTypeParser: int8AsNumber } });
  const db = new Kysely({ dialect: new PostgresDialect({ pool: deadlyPool(pool, calls) }) }) as unknown as Db;
  const shop = openShop({ url: urls.shop, sqlDir: queries, connections: 2 });
  const { api, signal, end } = openDeadlyApi(serviceUrl, calls);
  const deps = {
    api,
    shop,
    db,
    log: openLog('silent'),
    signal,
    now: () => new Date(),
    limits: { giveUpAfterMs: 50, settleMs: 1 },
    store: await openOrderStore(db, { leaseMs: 60_000 }),
    slots: pLimit(96),
  };
  try {
    // Batches of two orders, so that a run is also interrupted between them.
    const options = { lookbackMinutes: 10_000, batchSize: 2, isAnyTime: false };
    const counts = [];
    let batch = await planChangedOrders({ shop, db }, options);
    for (;;) {
      counts.push(await pushOrders(deps, batch.codes, usualRights));
      const next = await nextChangedOrders({ shop, db }, batch.state, options);
      if (next === undefined) break;
      batch = next;
    }
    counts.push({ lines_waiting: (await waitingLines(db)).lines });
    await concludeChangedOrders({ shop, db }, batch.state);
    return addCounts(counts);
  } finally {
    await end();
    await shop.close();
    await pool.end();
  }
}

const int8AsNumber = ((oid: number) =>
  oid === 20 ? Number : pg.types.getTypeParser(oid)) as typeof pg.types.getTypeParser;

async function world(): Promise<Urls> {
  return {
    shop: await cloneDatabase(templates.shop),
    warehouse: await cloneDatabase(templates.warehouse),
    service: await cloneDatabase(templates.service),
  };
}

/** Strikes once, runs again undisturbed, and gives what the service then holds and what a third run sent. */
async function strikeAndRecover(strike: (urls: Urls, serviceUrl: string) => Promise<unknown>) {
  const urls = await world();
  const at = await startReferenceService({ databaseUrl: urls.service });
  await strike(urls, at.url).catch(() => {});
  // Time passes: the lease of a process that died runs out.
  await queryAgain(urls.warehouse, `update sync.order_links set lease_expires_at = now() - interval '1 second'`);
  // The lines change before the next run: what was added without an answer is no longer found by its content.
  await queryAgain(urls.shop, `update l set price = price + 1 where order_code in ('A', 'E')`);
  await queryAgain(urls.shop, `update o set updated_at = now() where code in ('A', 'E')`);
  await run(urls, at.url, alive());
  const sent = at.requests();
  await run(urls, at.url, alive());
  const idle = JSON.stringify(writes(at.requests())) === JSON.stringify(writes(sent));
  await at.close();
  return { state: await queryAgain(urls.service, serviceState), idle };
}

const writes = (counts: Readonly<Record<string, number>>) =>
  Object.entries(counts).filter(([route]) => !route.includes('oauth'));

test('an undisturbed run sends each thing once, and a run after it nothing', async () => {
  const urls = await world();
  const at = await startReferenceService({ databaseUrl: urls.service });
  const counts = await run(urls, at.url, alive());
  expect(counts).toMatchObject({ sub_orders_added: 3, sub_orders_changed: 1, sub_orders_removed: 1, lines_waiting: 1 });
  expect(at.requests()).toMatchObject({
    'POST /v1/orders': 4,
    'POST /v1/orders/:order_id/sub_orders': 3,
    'PUT /v1/orders/:order_id/sub_orders/:id': 1,
    'DELETE /v1/orders/:order_id/sub_orders/:id': 1,
  });
  await at.close();
});

test('killed before or after any statement, the next run ends in the same state', { timeout: 300_000 }, async () => {
  const counting = alive();
  const undisturbed = await strikeAndRecover((urls, url) => run(urls, url, counting));
  expect(undisturbed.idle).toBe(true);
  expect(counting.total).toBeGreaterThan(15);
  const deaths = numbers(counting.total).flatMap((at) => (['before', 'after'] as const).map((when) => ({ at, when })));
  for (const { at, when } of sampled(deaths, 4)) {
    const struck = await strikeAndRecover((urls, url) => run(urls, url, { ...alive(), die: { at, when } }));
    expect({ at, when, ...struck }).toEqual({ at, when, ...undisturbed });
  }
});

test('killed before or after any request, or before its response, the next run ends in the same state', {
  timeout: 300_000,
}, async () => {
  const undisturbed = await strikeAndRecover(run0);
  let total = 0;
  await strikeAndRecover(async (urls, url) => {
    const between = await startFaultProxy(url);
    await run(urls, between.url, alive());
    total = between.calls();
    await between.close();
  });
  expect(total).toBe(9);
  const strikes = numbers(total).flatMap((n) => cases.map(([mode, dies]) => ({ n, mode, dies })));
  for (const { n, mode, dies } of sampled(strikes, 4)) {
    const struck = await strikeAndRecover(async (urls, url) => {
      const between = await startFaultProxy(url);
      const calls = alive();
      between.strike(n, mode, () => {
        calls.isDead = dies;
      });
      await run(urls, between.url, calls).finally(() => between.close());
    });
    expect({ n, mode, dies, ...struck }).toEqual({ n, mode, dies, ...undisturbed });
  }
});

const numbers = (count: number) => Array.from({ length: count }, (_, index) => index + 1);
const run0 = (urls: Urls, url: string) => run(urls, url, alive());
/** The process ends at that moment, or goes on with a connection that broke. */
const cases: readonly [FaultMode, boolean][] = [
  ['before', true],
  ['after', true],
  ['lost', true],
  ['before', false],
  ['lost', false],
];
