import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { createRandom } from '../../src/sandbox/sample-shop/random.ts';
import { serviceState } from '../harness/order-shop.ts';
import { type OrderWorld, openOrderWorld } from '../harness/order-world.ts';
import type { Fate, ProxiedRequest } from '../harness/proxy.ts';
import { sampled } from '../harness/sampled.ts';
import { line, order } from '../harness/shop-orders.ts';

/** Edits of a shop: new orders, equal lines, sizes, renewed line codes, removed and changed lines. */
const edits = [
  (n: number) => `insert into o (code) values ('O${n}') on conflict do nothing;
    insert into l (order_code, line_code, product_id, product_options) values
      ('O${n}', 'a${n}', 1, '{"size": "S"}'), ('O${n}', 'b${n}', 1, '{"size": "M"}'), ('O${n}', 'c${n}', 2, '{}')`,
  (n: number) =>
    `insert into l (order_code, line_code, product_id) select code, 'd${n}', 2 from o order by code limit 1`,
  (n: number) =>
    `update l set line_code = line_code || 'x' where order_code = (select code from o order by md5(code || '${n}') limit 1)`,
  (n: number) => `update l set price = price + 1 where line_code like '%${n % 10}%'`,
  (n: number) => `update l set status = 'delivered', invoice = 'I${n}' where product_id = 1`,
  (n: number) => `update o set total_price = total_price + ${n} where code like '%${n % 3}'`,
  () => `delete from l where ctid in (select ctid from l where order_code in
    (select order_code from l group by order_code having count(*) > 2) order by md5(line_code) limit 1)`,
];

/** The shop's orders, as `serviceState` has those of the service. */
const expected = `select o.code, o.total_price::text, o.user_email, o.user_phone, coalesce((select jsonb_agg(jsonb_build_array(
    l.product_id, l.price, l.product_options, l.status, l.invoice)
    order by l.product_id, l.price, l.product_options, l.status, l.invoice) from l where l.order_code = o.code), '[]') as sub_orders
  from o order by o.code`;

/** A service in a bad mood, and a process that may die at any request. */
function moods(random: () => number, die: () => void) {
  return ({ method, path }: ProxiedRequest): Fate => {
    const dice = random();
    if (dice < 0.04) die();
    if (dice < 0.12) return 'lose';
    // 404 to a DELETE means that the record is gone: a service that says so without deleting cannot be seen through.
    if (dice < 0.16 && method !== 'DELETE') return { status: path.includes('sub_orders') ? 404 : 500 };
    return dice < 0.2 ? { status: 422 } : 'pass';
  };
}

async function disturbedRun(world: OrderWorld, random: () => number): Promise<void> {
  const dead = new AbortController();
  world.serviceRule(moods(random, () => dead.abort(new Error('killed'))));
  await world.sync({ signal: dead.signal }).catch(() => {});
}

test.each(sampled([1, 2, 3, 4, 5, 6], 1))(
  'after random edits, failures and deaths the service is exactly as the shop (seed %i)',
  async (seed) => {
    await using world = await openOrderWorld({ environment: { ORDER_LEASE_SECONDS: '20' } });
    const random = createRandom(seed).next;
    await world.shop('create unique index on o (code)');
    for (let round = 1; round <= 8; round += 1) {
      for (let edit = 0; edit < 3; edit += 1) {
        const pick = edits[Math.floor(random() * edits.length)] ?? edits[0];
        await world.shop(pick?.(round * 10 + edit) ?? '');
      }
      await world.shop('update o set updated_at = now()');
      await Promise.all([disturbedRun(world, random), ...(random() < 0.3 ? [disturbedRun(world, random)] : [])]);
      // Time passes: the leases of a process that died run out.
      await world.warehouse(`update sync.order_links set lease_expires_at = now() - interval '1 second'`);
    }
    world.serviceRule(() => 'pass');
    await world.warehouse('update sync.order_links set fingerprint = null');
    await world.sync();
    expect(await world.atService(serviceState)).toEqual(await world.shop(expected));
    expect(await world.openDeadLetters()).toEqual([]);
  },
);

const lines = ['S', 'S', 'M'].flatMap((size, index) => [
  line(`a${index}`, 1, { product_options: { size } }),
  line(`b${index}`, 2, { product_options: { size }, price: 20 + index }),
]);

test.each(sampled([1, 2, 3, 4], 1))(
  'creations that are lost, late or repeated, by one process or two that may die: each line stands once within an hour (seed %i)',
  async (seed) => {
    await using world = await openOrderWorld({ environment: { ORDER_LEASE_SECONDS: '20' } });
    const random = createRandom(seed).next;
    await world.place(...['A', 'B', 'C'].map((code) => order(code, ...lines)));
    const late: PromiseWithResolvers<void>[] = [];
    let [sent, under] = [0, 0];
    const disturbed = async () => {
      const dead = new AbortController();
      world.serviceRule(({ method, path }): Fate => {
        const dice = random();
        if (dice < 0.02) dead.abort(new Error('killed'));
        if (method !== 'POST' || !path.endsWith('/sub_orders')) return dice < 0.08 ? 'lose' : 'pass';
        sent += 1;
        if (dice < 0.3) return 'lose';
        if (dice < 0.6) return 'pass';
        if (dice < 0.7) return { status: 500 };
        late.push(Promise.withResolvers<void>());
        return { carriedOutAfter: late.at(-1)?.promise ?? Promise.resolve() };
      });
      await world.sync({ signal: dead.signal }).catch(() => {});
    };
    for (let round = 1; round <= 4; round += 1) {
      await Promise.all([disturbed(), ...(random() < 0.5 ? [disturbed()] : [])]);
      for (const one of late.splice(0, Math.floor(late.length * random()))) one.resolve();
      await world.warehouse(
        `update sync.order_links set lease_expires_at = now() - interval '1 second', due_at = now() where lease_owner is not null or failed_pushes > 0`,
      );
    }
    world.serviceRule(() => 'pass');
    await world.sync();
    for (const one of late) one.resolve();
    const count = async () => (await world.atService('select 1 from reference_service.sub_orders')).length;
    do {
      under = await count();
      await delay(300);
    } while (under !== (await count()));
    expect(sent).toBeGreaterThan(18);
    await world.timePasses('1 hour');
    await world.sync();
    // What was found by this run is looked at once more.
    await world.timePasses('1 hour');
    await world.sync();
    expect(await world.atService(serviceState)).toEqual(await world.shop(expected));
    expect(await world.openDeadLetters()).toEqual([]);
  },
);
