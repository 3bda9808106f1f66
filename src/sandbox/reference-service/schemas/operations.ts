import { categoryOperations, userGradeOperations } from './catalog.ts';
import type { Operation } from './operation.ts';
import { orderOperations, subOrderOperations } from './orders.ts';
import { reviewOperations } from './reviews.ts';
import { serviceOperations } from './service.ts';

/** Every route of the service: what it takes and what it answers. */
export const operations: readonly Operation[] = [
  ...serviceOperations,
  ...orderOperations,
  ...subOrderOperations,
  ...categoryOperations,
  ...userGradeOperations,
  ...reviewOperations,
];

/** @throws Error if a route has no schema: no route is served without one. */
export function operationOf(method: string, path: string): Operation {
  const found = operations.find((operation) => operation.method === method && operation.path === path);
  if (found) return found;
  throw new Error(`${method} ${path} has no schema, expected one in src/sandbox/reference-service/schemas`);
}
