import { test } from 'vitest';
import { openWorld, type World, type WorldOptions } from './world.ts';

export type OpenWorld = (options?: WorldOptions) => Promise<World>;

/**
 * Tests with worlds that close when the test has ended: `world`, and `openWorld(options)` for those who need a special
 * one. A file whose worlds are alike says so once:
 *
 *     const test = worldTest.extend('worldOptions', { shop: 'empty' });
 */
export const worldTest = test
  .extend('worldOptions', {} as WorldOptions)
  .extend('openWorld', async ({ worldOptions }, { onCleanup }) => {
    const opened = new AsyncDisposableStack();
    onCleanup(() => opened.disposeAsync());
    const open: OpenWorld = async (options = {}) => opened.use(await openWorld(merged(worldOptions, options)));
    return open;
  })
  .extend('world', ({ openWorld }) => openWorld());

/** The second options before the first, variable by variable of the environment. */
export const merged = <T extends WorldOptions>(usual: T, special: T): T => ({
  ...usual,
  ...special,
  environment: { ...usual.environment, ...special.environment },
});
