import { expect, onTestFinished } from 'vitest';
import { type RunningCli, runCli, startCli } from '../harness/cli.ts';
import { orderTest } from '../harness/order-test.ts';
import type { OrderWorld } from '../harness/order-world.ts';
import { until } from '../harness/patience.ts';
import type { Fate } from '../harness/proxy.ts';
import { orders } from '../harness/shop-orders.ts';

/** Removals belong to no run: any run that finds one makes it, or names it (promises 6 and 8). */

const test = orderTest.extend('worldOptions', {
  environment: { TAKE_OVER_SECONDS: '3', ORDER_OVERLAP_MINUTES: '10' },
});

/** Orders with two lines each at the service, of which the shop has lost the second. */
async function lostLines(world: OrderWorld, count: number): Promise<void> {
  await world.place(...orders(count, () => 2));
  expect((await runCli(['sync', 'orders'], world.environment)).status).toBe(0);
  await world.shop(`delete from l where line_code = '2'; update o set updated_at = now()`);
}

const kept = async (world: OrderWorld) => {
  const [row] = await world.atService<{ n: number }>(
    `select count(*)::integer - (select count(*)::integer from reference_service.orders) as n from reference_service.sub_orders`,
  );
  return row?.n ?? 0;
};

/** A run that is over says what is left: nothing and `done`, or how many removals are held back, with the flag. */
async function expectNamed(world: OrderWorld, end: { status: number | null; stdout: string }): Promise<void> {
  const left = await kept(world);
  const report = JSON.parse(end.stdout);
  if (left === 0) {
    expect(report).toMatchObject({ outcome: 'done' });
    expect(end.status).toBe(0);
    return;
  }
  expect(report).toMatchObject({ outcome: 'incomplete', counts: { removals_held: left } });
  expect(report.error).toContain(`${left} removal${left === 1 ? '' : 's'} of orders and lines held back`);
  expect(report.error).toContain('--allow-removals');
  expect(end.status).toBe(1);
  expect(await world.openDeadLetters()).toHaveLength(left);
}

function startWorker(world: OrderWorld): RunningCli {
  const schedules = { SCHEDULE_CATALOG: '', SCHEDULE_REVIEWS: '', SCHEDULE_RECONCILE: '' };
  const environment = { ...world.environment, ...schedules, SCHEDULE_ORDERS: '* * * * * *' };
  const worker = startCli(['worker'], { ...environment, METRICS_PORT: '0', LOG_LEVEL: 'info' });
  onTestFinished(() => worker.kill('SIGKILL'));
  return worker;
}

test('of the removals that killed workers had begun, the next commands make or name all, without a worker', async ({
  world,
}) => {
  const count = 70;
  await lostLines(world, count);
  let removals = 0;
  const killed = Promise.withResolvers<void>();
  world.serviceRule(async ({ method }): Promise<Fate> => {
    if (method !== 'DELETE') return 'pass';
    removals += 1;
    if (removals > 10) await killed.promise;
    return 'pass';
  });
  const workers = [startWorker(world), startWorker(world)];
  await until(async () => removals > 10 || undefined);
  for (const worker of workers) worker.kill('SIGKILL');
  await Promise.all(workers.map((worker) => worker.ended));
  killed.resolve();
  world.serviceRule(() => 'pass');
  await world.warehouse('update sync.order_links set lease_expires_at = now() where lease_owner is not null');
  // What the killed workers had begun is found by nothing but the fact that it is not recorded.
  const begun = await world.warehouse<{ code: string }>(
    'select order_code as code from sync.order_links where lease_owner is not null',
  );
  expect(begun.length).toBeGreaterThan(0);
  await world.shop(`update o set updated_at = now() - interval '1 year' where code = any($1)`, [
    begun.map(({ code }) => code),
  ]);
  for (let run = 0; run < 2; run += 1) {
    const end = await runCli(['sync', 'orders', '--json'], world.environment);
    await expectNamed(world, end);
  }
  expect(count - (await kept(world))).toBeLessThanOrEqual(50);
  const allowed = await runCli(['sync', 'orders', '--allow-removals', '--json'], world.environment);
  expect(allowed).toMatchObject({ status: 0 });
  expect(await kept(world)).toBe(0);
  expect(await world.openDeadLetters()).toEqual([]);
});
