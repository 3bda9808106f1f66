import { counted } from '../base/counts.ts';
import { describeError, ReviewSyncError } from '../base/errors.ts';
import { openQueues } from '../queue/index.ts';
import { queueNames } from '../warehouse/connected-service.ts';
import { isLockedOut, openWarehouse, type Warehouse } from '../warehouse/index.ts';
import { compareMigrations } from '../warehouse/migrate.ts';
import { type Config, isWhole } from './config.ts';
import type { StatusSource } from './status-report.ts';

/**
 * Opens what a status report is read from: the warehouse and, if it responds, the queue.
 *
 * @throws ReviewSyncError when the warehouse does not respond or is not migrated.
 */
export async function openStatusSource(config: Config): Promise<StatusSource & AsyncDisposable> {
  await using opened = new AsyncDisposableStack();
  const { warehouseDatabaseUrl: url, brand, lockSeconds } = config;
  const warehouse = opened.use(await openWarehouse({ url, brand, lockSeconds, connections: 2 }));
  await requireMigrated(warehouse);
  const ours = () => queueNames(warehouse.db, config.api, brand).then((names) => openQueues(config.queueUrl, names));
  const queues = isWhole(config) ? await ours().catch((error: Error) => error) : undefined;
  if (queues && !(queues instanceof Error)) opened.use(queues);
  const all = opened.move();
  return { warehouse, config, now: () => new Date(), queues, [Symbol.asyncDispose]: () => all.disposeAsync() };
}

/** @throws ReviewSyncError when the warehouse does not respond or is not migrated. */
export async function requireMigrated(warehouse: Warehouse): Promise<void> {
  const { pending } = await compareMigrations(warehouse.db).catch((cause) => {
    if (cause instanceof ReviewSyncError || isLockedOut(cause)) throw cause;
    throw new ReviewSyncError('warehouse', `The warehouse cannot be reached: ${describeError(cause)}`, {
      cause,
      hint: 'Check that it is up and that WAREHOUSE_DATABASE_URL is right; review-sync doctor says more.',
    });
  });
  if (pending.length === 0) return;
  throw new ReviewSyncError(
    'not-migrated',
    `The warehouse lacks ${counted(pending.length, 'migration')}: ${pending.join(', ')}`,
    {
      hint: 'Run: review-sync migrate',
    },
  );
}
