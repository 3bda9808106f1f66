import { openOrderWorld } from './order-world.ts';
import { testIn } from './world-test.ts';

/** `worldTest` with worlds of orders. */
export const orderTest = testIn(openOrderWorld);
