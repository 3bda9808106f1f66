import { test } from 'vitest';
import { type OrderWorld, type OrderWorldOptions, openOrderWorld } from './order-world.ts';
import { merged } from './world-test.ts';

export type OpenOrderWorld = (options?: OrderWorldOptions) => Promise<OrderWorld>;

/**
 * Tests with worlds of orders that close when the test has ended: `world`, and `openWorld(options)` for a special one.
 * A file whose worlds are alike says so once:
 *
 *     const test = orderTest.extend('worldOptions', { environment: { ORDER_LEASE_SECONDS: '4' } });
 */
export const orderTest = test
  .extend('worldOptions', {} as OrderWorldOptions)
  .extend('openWorld', async ({ worldOptions }, { onCleanup }) => {
    const opened = new AsyncDisposableStack();
    onCleanup(() => opened.disposeAsync());
    const open: OpenOrderWorld = async (options = {}) =>
      opened.use(await openOrderWorld(merged(worldOptions, options)));
    return open;
  })
  .extend('world', ({ openWorld }) => openWorld());
