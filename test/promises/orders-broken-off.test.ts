import { expect } from 'vitest';
import { startCli } from '../harness/cli.ts';
import { orderTest as test } from '../harness/order-test.ts';
import type { ProxiedRequest } from '../harness/proxy.ts';
import { line, order } from '../harness/shop-orders.ts';

const isCreate = ({ method, path }: ProxiedRequest) => method === 'POST' && path.endsWith('/sub_orders');
const numbered = Array.from({ length: 12 }, (_, index) => index + 1);

test('a backfill that is killed after it posted orders without contact: no later run mails them', async ({ world }) => {
  await world.place(
    ...numbered.map((n) => order(`O${n}`, { user_email: `o${n}@example.com`, user_phone: `010-${n}` }, line('1', n))),
  );
  const posts = () => world.requests().filter(({ method, path }) => method === 'POST' && path === '/v1/orders');
  const running = startCli(['backfill', 'orders'], world.environment);
  world.serviceRule(() => {
    if (posts().length <= 5) return 'pass';
    running.kill('SIGKILL');
    return 'lose';
  });
  expect((await running.ended).signal).toBe('SIGKILL');
  const codes = new Set(posts().map(({ form }) => form.get('code')));
  expect(codes.size).toBeGreaterThan(5);
  await world.timePasses('1 hour');
  for (const later of ['orders', 'reconcile']) {
    // As a shop does that touches its orders, so that each of them is pushed.
    await world.shop('update o set total_price = total_price + 1, updated_at = now()');
    world.serviceRule(() => 'pass');
    expect(await world.cli('sync', later)).toMatchObject({ status: 0 });
    const again = posts().filter(({ form }) => codes.has(form.get('code')));
    expect(again).toHaveLength(codes.size);
    for (const { form } of again) expect([form.get('user_email'), form.get('user_phone')]).toEqual([null, null]);
  }
  expect(await world.atService('select from reference_service.sub_orders')).toHaveLength(12);
});

test('what a repair left between orders of 100 days ago and their lines, the next sync completes', async ({
  world,
}) => {
  await world.place(order('NEW', line('1', 99)));
  expect(await world.cli('sync', 'orders')).toMatchObject({ status: 0 });
  const old = new Date(Date.now() - 100 * 86_400_000);
  const dates = { created_at: old, updated_at: old };
  await world.place(...numbered.map((n) => order(`O${n}`, dates, line('1', n), line('2', n))));
  let isRevoked = false;
  world.serviceRule((request) => {
    isRevoked ||= isCreate(request);
    return isRevoked ? { status: 401 } : 'pass';
  });
  expect(await world.cli('verify', 'orders', '--repair')).toMatchObject({ status: 1 });
  const isIncomplete = `select code from reference_service.orders o where code <> 'NEW'
    and (select count(*) from reference_service.sub_orders s where s.order_id = o.id) <> 2`;
  expect(await world.atService(isIncomplete)).not.toEqual([]);
  await world.timePasses('1 hour');
  world.serviceRule(() => 'pass');
  // A new process: this one's client holds requests back after refused credentials.
  expect(await world.cli('sync', 'orders')).toMatchObject({ status: 0 });
  expect(await world.atService(isIncomplete)).toEqual([]);
  world.serviceRule(() => 'pass');
  await world.sync();
  expect(world.requests()).toEqual([]);
});

test('a worker that is stopped while it waits for what a creation did ends at once', async ({ world }) => {
  await world.place(order('O1', line('1', 1)));
  const stopped = new AbortController();
  world.serviceRule(({ path }) => {
    if (!path.endsWith('/sub_orders')) return 'pass';
    stopped.abort();
    return { carriedOutAfter: Promise.resolve() };
  });
  // It would look again in a quarter of an hour.
  const limits = { giveUpAfterMs: 50, settleMs: 900_000 };
  await expect(world.sync({ signal: stopped.signal, limits })).rejects.toThrow();
  world.serviceRule(() => 'pass');
  await world.sync();
  expect(await world.atService('select from reference_service.sub_orders')).toHaveLength(1);
});

test.for([
  ['POST', `update o set total_price = 7`, `update o set total_price = 100`, { total: '100', invoice: 'first' }],
  // The order changes too, so that it is pushed at all.
  [
    'PUT',
    `update l set invoice = 'second'`,
    `update l set invoice = 'first'; update o set total_price = 7`,
    { total: '7', invoice: 'first' },
  ],
] as const)(
  'a %s that was sent and not recorded is taken back if the shop goes back',
  async ([method, change, back, expected], { world }) => {
    await world.place(order('O1', line('1', 1, { invoice: 'first' })));
    await world.sync();
    const app = await world.openApp();
    world.serviceRule((request) => {
      if (request.method !== method) return 'pass';
      app.abort.abort();
      return 'lose';
    });
    await world.shop(`${change}; update o set updated_at = now()`);
    await expect(world.sync({ api: app.api, signal: app.abort.signal })).rejects.toThrow();
    world.serviceRule(() => 'pass');
    await world.shop(`${back}; update o set updated_at = now()`);
    await world.sync();
    const shown = `select o.total_price::text as total, s.invoice from reference_service.orders o
      join reference_service.sub_orders s on s.order_id = o.id`;
    expect(await world.atService(shown)).toEqual([expected]);
  },
);
