import { test } from 'vitest';
import { openWorld, type World, type WorldOptions } from './world.ts';

export type OpenWorld<W = World> = (options?: WorldOptions) => Promise<W>;

/**
 * Tests with worlds that close when the test has ended: `world`, and `openWorld(options)` for those who need a special
 * one. A file whose worlds are alike says so once:
 *
 *     const test = worldTest.extend('worldOptions', { shop: 'empty' });
 */
export const worldTest = testIn(openWorld);

/** The same with worlds that are opened so. */
export function testIn<W extends AsyncDisposable>(open: OpenWorld<W>) {
  return test
    .extend('worldOptions', {} as WorldOptions)
    .extend('openWorld', async ({ worldOptions }, { onCleanup }) => {
      const opened = new AsyncDisposableStack();
      onCleanup(() => opened.disposeAsync());
      const openOne: OpenWorld<W> = async (options = {}) => opened.use(await open(merged(worldOptions, options)));
      return openOne;
    })
    .extend('world', ({ openWorld: openOne }) => openOne());
}

/** The second options before the first, variable by variable of the environment. */
export const merged = (usual: WorldOptions, special: WorldOptions): WorldOptions => ({
  ...usual,
  ...special,
  environment: { ...usual.environment, ...special.environment },
});
