import { type OrderWorld, openOrderWorld } from './order-world.ts';
import { type OpenWorld, testIn } from './world-test.ts';

export type OpenOrderWorld = OpenWorld<OrderWorld>;

/** `worldTest` with worlds of orders. */
export const orderTest = testIn(openOrderWorld);
