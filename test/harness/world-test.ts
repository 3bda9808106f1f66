import { test } from 'vitest';
import { openWorld, type WorldOptions } from './world.ts';

/**
 * Tests with worlds that close when the test has ended: `world`, and `openWorld(options)` for those who need a special one.
 * A file whose worlds are alike says so once:
 *
 *     const test = worldTest.extend('worldOptions', { shop: 'empty' });
 */
export const worldTest = test
  .extend('worldOptions', {} as WorldOptions)
  .extend('openWorld', async ({ worldOptions }, { onCleanup }) => {
    const opened = new AsyncDisposableStack();
    onCleanup(() => opened.disposeAsync());
    return async (options: WorldOptions = {}) => opened.use(await openWorld(merged(worldOptions, options)));
  })
  .extend('world', ({ openWorld }) => openWorld());

/** The second options before the first, variable by variable of the environment. */
export const merged = <T extends WorldOptions>(usual: T, special: T): T => ({
  ...usual,
  ...special,
  environment: { ...usual.environment, ...special.environment },
});
