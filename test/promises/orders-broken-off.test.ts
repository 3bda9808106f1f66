import { expect } from 'vitest';
import { startCli } from '../harness/cli.ts';
import { orderTest as test } from '../harness/order-test.ts';
import type { OrderWorld } from '../harness/order-world.ts';
import type { ProxiedRequest } from '../harness/proxy.ts';
import { line, order } from '../harness/shop-orders.ts';

const isOrder = ({ method, path }: ProxiedRequest) => method === 'POST' && path === '/v1/orders';
const isCreate = ({ method, path }: ProxiedRequest) => method === 'POST' && path.endsWith('/sub_orders');
const numbered = Array.from({ length: 12 }, (_, index) => index + 1);

/**
 * Runs a command that ends with the n-th request of a kind: killed with kill -9, or because its credentials are refused
 * from then on.
 */
async function breakOff(
  world: OrderWorld,
  command: readonly string[],
  { end, at }: { end: 'kill -9' | 'credentials refused'; at: (request: ProxiedRequest) => boolean },
): Promise<void> {
  const running = startCli(command, world.environment);
  let hasEnded = false;
  world.serviceRule((request) => {
    hasEnded ||= at(request);
    if (!hasEnded) return 'pass';
    if (end === 'credentials refused') return { status: 401 };
    running.kill('SIGKILL');
    return 'lose';
  });
  const { status, signal } = await running.ended;
  expect(signal ?? status).toBe(end === 'kill -9' ? 'SIGKILL' : 1);
  expect(hasEnded).toBe(true);
}

test.for([[['backfill', 'orders'], 'kill -9']] as const)(
  '%s ends by %s after orders were posted without contact: no later run sends e-mail or phone of them',
  async ([command, end], { world }) => {
    await world.place(
      ...numbered.map((n) => order(`O${n}`, { user_email: `o${n}@example.com`, user_phone: `010-${n}` }, line('1', n))),
    );
    let posts = 0;
    await breakOff(world, command, { end, at: (request) => isOrder(request) && ++posts > 5 });
    const posted = world.requests().filter(isOrder);
    for (const { form } of posted) expect([form.get('user_email'), form.get('user_phone')]).toEqual([null, null]);
    const codes = new Set(posted.map(({ form }) => form.get('code')));
    expect(codes.size).toBeGreaterThan(5);

    await world.timePasses('1 hour');
    for (const later of ['orders', 'reconcile']) {
      // As a shop does that touches its orders, so that each of them is pushed.
      await world.shop('update o set total_price = total_price + 1, updated_at = now()');
      world.serviceRule(() => 'pass');
      expect(await world.cli('sync', later)).toMatchObject({ status: 0 });
      const again = world.requests().filter((one) => isOrder(one) && codes.has(one.form.get('code')));
      expect(again).toHaveLength(codes.size);
      for (const { form } of again) expect([form.get('user_email'), form.get('user_phone')]).toEqual([null, null]);
    }
    const reached = await world.atService<{ code: string }>(
      'select code from reference_service.orders where user_email is not null or user_phone is not null',
    );
    expect(reached.filter(({ code }) => codes.has(code))).toEqual([]);
    expect(await world.atService('select count(*)::integer as n from reference_service.sub_orders')).toEqual([
      { n: 12 },
    ]);
  },
);

test.for([[['verify', 'orders', '--repair'], 'credentials refused']] as const)(
  '%s ends by %s between orders of 100 days ago and their sub-orders: the next sync of orders completes them',
  async ([command, end], { world }) => {
    await world.place(order('NEW', line('1', 99)));
    expect(await world.cli('sync', 'orders')).toMatchObject({ status: 0 });
    const old = new Date(Date.now() - 100 * 86_400_000);
    const dates = { created_at: old, updated_at: old };
    await world.place(...numbered.map((n) => order(`O${n}`, dates, line('1', n), line('2', n))));
    await breakOff(world, command, { end, at: isCreate });
    const isIncomplete = `select code from reference_service.orders o where code <> 'NEW'
      and (select count(*) from reference_service.sub_orders s where s.order_id = o.id) <> 2`;
    const incomplete = await world.atService(isIncomplete);
    expect(incomplete).not.toEqual([]);

    await world.timePasses('1 hour');
    world.serviceRule(() => 'pass');
    expect(await world.cli('sync', 'orders')).toMatchObject({ status: 0 });
    expect(await world.atService(isIncomplete)).toEqual([]);
    world.serviceRule(() => 'pass');
    await world.sync();
    expect(world.requests()).toEqual([]);
  },
);
