import { counted } from '../base/counts.ts';
import { describeError, ReviewSyncError } from '../base/errors.ts';
import { isLockedOut, type Warehouse } from '../warehouse/index.ts';
import { compareMigrations } from '../warehouse/migrate.ts';

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
