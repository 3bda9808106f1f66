import { expect } from 'vitest';
import { startCli } from '../harness/cli.ts';
import { query } from '../harness/database.ts';
import { orderTest as test } from '../harness/order-test.ts';
import type { Fate } from '../harness/proxy.ts';
import { orders } from '../harness/shop-orders.ts';

const subOrders = 'select count(*)::integer as n from reference_service.sub_orders';

test('connections that are cut while orders are pushed, by two processes at once, add no sub-order twice', async ({
  openWorld,
}) => {
  // A cut connection cannot give its leases back: they run out.
  const world = await openWorld({ environment: { ORDER_LEASE_SECONDS: '4' } });
  await world.place(...orders(40, () => 2));
  let cuts = 0;
  world.serviceRule(async ({ path }): Promise<Fate> => {
    // Every tenth creation all connections to the warehouse are cut, those of the other process too.
    if (path.endsWith('/sub_orders') && ++cuts % 10 === 0 && cuts < 60) {
      await query(world.shopUrl, `select pg_terminate_backend(pid) from pg_stat_activity where datname = $1`, [
        new URL(world.warehouseUrl).pathname.slice(1),
      ]);
    }
    return 'pass';
  });
  for (let run = 0; run < 12; run += 1) await Promise.allSettled([world.sync(), world.sync()]);
  await world.warehouse(`update sync.order_links set lease_expires_at = now() - interval '1 second'`);
  await world.sync();
  expect(cuts).toBeGreaterThan(50);
  expect(await world.atService(subOrders)).toEqual([{ n: 80 }]);
});

test('a command that waits for an order says who has it and until when, and goes on when the lease runs out', async ({
  world,
}) => {
  await world.place(...orders(1, () => 2));
  await world.sync();
  await world.shop(`update o set total_price = 7, updated_at = now()`);
  await world.warehouse(
    `update sync.order_links set lease_owner = 'other-machine:7:x', lease_expires_at = now() + interval '10 minutes'`,
  );
  const command = startCli(['sync', 'orders'], world.environment);
  await command.says('other-machine:7:x is pushing order O1');
  expect(command.saidSoFar()).toContain('waiting until');
  await world.timePasses('10 minutes');
  expect(await command.ended).toMatchObject({ status: 0 });
  expect(await world.atService('select total_price::text from reference_service.orders')).toEqual([
    { total_price: '7' },
  ]);
});
