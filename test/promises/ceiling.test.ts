import { expect, test } from 'vitest';
import { runProcess } from '../harness/cli.ts';
import { createOrderShop, orderShopQueries } from '../harness/order-shop.ts';
import { openWorld } from '../harness/world.ts';

test('two processes together stay under the ceiling, so that a service with a higher one limits nobody', async () => {
  const environment = {
    SHOP_SQL_DIR: await orderShopQueries(),
    REVIEW_API_REQUESTS_PER_SECOND: '40',
    LOG_LEVEL: 'info',
  };
  // The service counts by calendar second: two of ours may each touch a second of its own.
  await using world = await openWorld({ shop: 'empty', environment, service: { rateLimitPerSecond: 85 } });
  await createOrderShop(world.shopUrl);
  await world.shop(`insert into o (code) select 'O' || n from generate_series(1, 100) n`);
  const ends = await Promise.all([1, 2].map(() => runProcess(['sync', 'orders'], world.environment)));
  expect(ends.map((end) => end.status)).toEqual([0, 0]);
  // A 429 would have made them wait, and a wait is always said with its reason.
  expect(ends.map((end) => end.stderr).join('')).not.toContain('asked for fewer requests');
  expect(await world.atService('select count(*)::integer as n from reference_service.orders')).toEqual([{ n: 100 }]);
});
