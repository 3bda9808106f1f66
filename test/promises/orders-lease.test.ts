import { expect } from 'vitest';
import { startCli } from '../harness/cli.ts';
import { orderTest as test } from '../harness/order-test.ts';
import { orders } from '../harness/shop-orders.ts';

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
