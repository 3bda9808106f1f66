import { parseArgs } from 'node:util';
import { sql } from 'kysely';
import pLimit from 'p-limit';
import { addCounts, type Counts } from '../src/base/counts.ts';
import { packagePath } from '../src/base/package-path.ts';
import type { OrderDeps } from '../src/orders/order-deps.ts';
import { readOrders } from '../src/orders/plan/read-orders.ts';
import { pushOrders } from '../src/orders/push/push-orders.ts';
import { ordersByCreation, type WalkState, walkOrders } from '../src/orders/select/orders-by-day.ts';
import { startEmbeddedDatabase } from '../src/sandbox/embedded-postgres/index.ts';
import { openShop } from '../src/shop/index.ts';
import { openWarehouse } from '../src/warehouse/index.ts';
import { migrateWarehouse } from '../src/warehouse/migrate.ts';
import { advanceCursor } from '../src/warehouse/runs/cursors.ts';
import { usualRights } from '../test/harness/sync-orders.ts';
import { growShop, load, openOrderDeps, say } from './stage.ts';

/**
 * How long a rescan takes when nothing changed: the steps of `sync reconcile`, four at a time as in a worker, over the
 * sample shop grown by SQL. There is no service: a single request would fail the run.
 *
 *     npm run bench:rescan -- --days 60 --per-day 5000
 */
const { values: given } = parseArgs({
  options: { days: { type: 'string', default: '60' }, 'per-day': { type: 'string', default: '5000' } },
});
const [days, perDay] = [Number(given.days), Number(given['per-day'])];
const stepsAtATime = 4;

await using opened = new AsyncDisposableStack();
const server = await startEmbeddedDatabase();
opened.defer(() => server.close());

const url = await server.createDatabase('shop');
const { client } = await growShop(opened, url, days * perDay);
await client.query(`update shop.orders o set ordered_at = now() - n * interval '1 day' / ${perDay}
  from (select order_id, row_number() over (order by order_id) as n from shop.orders) s where s.order_id = o.order_id`);
await client.query('vacuum analyze');

const warehouse = await openWarehouse({ url: await server.createDatabase('warehouse'), connections: 14 });
opened.defer(() => warehouse.close());
const { db } = warehouse;
await migrateWarehouse(db);
const shop = openShop({ url, sqlDir: packagePath('sql', 'shop'), connections: stepsAtATime + 1 });
opened.defer(() => shop.close());
const deps: OrderDeps = { ...openOrderDeps(opened, warehouse, 'http://127.0.0.1:1'), shop };
const rights = { ...usualRights, trigger: 'rescan' } as const;

// As if every order had been pushed.
const now = new Date().toISOString();
await advanceCursor(db, 'orders', { at: now, readTo: now });
for await (const raws of ordersByCreation(shop, { start: undefined, end: undefined })) {
  const orders = (await readOrders(deps, raws, { rights, readAt: new Date(), now: () => new Date() })).flatMap(
    ({ order }) => order ?? [],
  );
  const links = orders.map((one, index) => ({
    order_code: one.code,
    order_id: index + 1,
    fingerprint: one.fingerprint,
    ordered_at: one.order.createdAt,
    user_grade_code: one.order.userGradeCode,
  }));
  await sql`
    insert into sync.order_links (order_code, order_id, fingerprint, ordered_at, user_grade_code, pushed_at, contact)
    select g.*, now(), 'allowed' from jsonb_to_recordset(${JSON.stringify(links)}::jsonb)
      as g (order_code text, order_id bigint, fingerprint text, ordered_at timestamptz, user_grade_code text)`.execute(
    db,
  );
}
await sql`vacuum analyze sync.order_links`.execute(db);

for (const turn of [1, 2]) {
  const before = load();
  const began = performance.now();
  const start = Math.floor(Date.now() / 1000) - days * 86_400;
  const limit = pLimit(stepsAtATime);
  const ofSteps: Counts[] = [];
  let walked: WalkState = {};
  do {
    const { codes, state } = await walkOrders({ shop, db }, { start, end: undefined }, 50_000, walked);
    const steps = Array.from({ length: Math.ceil(codes.length / 500) }, (_, n) => codes.slice(n * 500, n * 500 + 500));
    const push = (step: string[]) => limit(() => pushOrders(deps, step, rights));
    ofSteps.push(...(await Promise.all(steps.map(push))));
    walked = state;
  } while (walked.next !== undefined);
  const counts = addCounts(ofSteps);
  const seconds = (performance.now() - began) / 1000;
  const { orders = 0, orders_unchanged: unchanged } = counts;
  say(
    `turn ${turn}: ${orders.toLocaleString('en')} orders, ${unchanged?.toLocaleString('en')} unchanged, ` +
      `in ${seconds.toFixed(1)} s (${Math.round(orders / seconds).toLocaleString('en')} orders/s), ` +
      `${(process.memoryUsage().rss / 1e6).toFixed(0)} MB resident, load ${before} before and ${load()} after`,
  );
}
