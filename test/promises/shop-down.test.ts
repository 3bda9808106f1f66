import { expect } from 'vitest';
import { runCli } from '../harness/cli.ts';
import { orderTest as test } from '../harness/order-test.ts';
import { line, order } from '../harness/shop-orders.ts';

test('preview and explain show what the service has while the shop is down', async ({ world }) => {
  await world.place(order('A', line('1', 1)));
  await world.sync();
  const down = new URL(world.shopUrl);
  down.port = '1';
  const environment = { ...world.environment, SHOP_DATABASE_URL: down.href };
  for (const command of ['preview', 'explain']) {
    const { status, stdout, stderr } = await runCli([command, 'order', 'A'], environment);
    expect([command, status, stderr]).toEqual([command, 1, '']);
    expect(stdout).toMatch(/^The shop could not be asked about the order: .*ECONNREFUSED/m);
    // The sub-order of the line, as the service shows it.
    expect(stdout).toMatch(/^id +product_id +cents +status/m);
    expect(stdout).not.toContain('The shop has no order');
  }
});
