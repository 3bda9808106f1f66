import { expect, test } from 'vitest';
import { growSampleShop } from '../../src/sandbox/sample-shop/grow.ts';
import { changedDays } from '../harness/sample-shop-days.ts';
import { type OrderState, serviceStateSql, shopStateSql, stateDifferences } from '../harness/sample-shop-state.ts';
import { openWorld } from '../harness/world.ts';

/** `npm run bench:changes` runs the same script over a large shop. */

test('changes without a date, late commits, deletions and restored rows: after feed and rescan the service is as the shop', async () => {
  await using world = await openWorld({ environment: { ORDER_DELETES: 'send', ORDER_RESCAN_DAYS: '10' } });
  const { shopUrl, warehouseUrl } = world;
  await world.shop(growSampleShop(72));
  const cli = async (...args: string[]) => {
    const end = await world.cli(...args);
    expect(end).toMatchObject({ status: 0 });
    return JSON.parse(end.stdout);
  };
  const differences = async () =>
    stateDifferences(
      await world.shop<OrderState>(await shopStateSql()),
      await world.atService<OrderState>(serviceStateSql),
    );
  for (const flow of ['reviews', 'catalog', 'orders']) await cli('sync', flow, '--json');
  expect(await differences()).toEqual([]);

  for await (const day of changedDays({ shopUrl, warehouseUrl, cli, differences }, { every: 24, rescanDays: 10 })) {
    expect(day.changes.filter(({ orders }) => orders !== 3)).toEqual([]);
    expect(day.afterFeed).toHaveLength(day.afterFeedExpected);
    expect(day.missed).toBe(day.missedExpected);
    expect(day.afterRescan).toHaveLength(day.afterRescanExpected);
    expect(day.afterRescan.filter(({ kind }) => kind !== 'extra')).toEqual([]);
  }
  expect((await cli('sync', 'reconcile', '--json')).counts.orders_pushed ?? 0).toBe(0);
  expect(await differences()).toEqual([]);
});
