import { existsSync } from 'node:fs';
import { UsageError } from '../base/errors.ts';
import { openQueues } from '../queue/index.ts';
import { applySchedules } from '../queue/schedules.ts';
import { hasPlainSchemas, makeUnion, storedBrands } from '../warehouse/bi/all-brands.ts';
import { prepareBi } from '../warehouse/bi/bi-access.ts';
import { connectedService, isSameAccount, queueNames } from '../warehouse/connected-service.ts';
import { openWarehouse } from '../warehouse/index.ts';
import { contentsOf, dropBrand, moveToBrand } from '../warehouse/move-brands.ts';
import { type Brand, configOf, placesOf } from './brands.ts';
import type { Deployment } from './config.ts';
import { serviceOf } from './require-same-service.ts';

/**
 * Turns the warehouse without brands into the warehouse of a brand.
 *
 * @throws UsageError if there is no such warehouse, or it belongs to another account than the brand's.
 */
export async function moveWarehouseTo(brand: Brand, name: string): Promise<void> {
  const config = configOf(brand);
  const opened = { url: config.warehouseDatabaseUrl, connections: 2, silenceMs: 0 };
  await using plain = await openWarehouse(opened);
  if (!(await hasPlainSchemas(plain.db))) {
    const hint = `If it is that of ${name} already, as after a lost connection, run: review-sync migrate`;
    throw new UsageError('The warehouse has no schemas without brand', { hint });
  }
  const connected = await connectedService(plain.db);
  if (connected && !isSameAccount(connected, serviceOf(config.api))) {
    throw new UsageError(
      `The warehouse belongs to another account than that of ${name}.env: its orders are at another service`,
    );
  }
  await moveToBrand(plain.db, name);
  await using warehouse = await openWarehouse({ ...opened, brand: name });
  await prepareBi(warehouse, config.api);
  await makeUnion(plain.db, name);
}

/**
 * Counts what the warehouse holds of a brand that is not in use any more, and with `isApplied` drops it: its schedules,
 * schemas and role.
 *
 * @returns the counts. `isRoleKept`: another database or a login uses the role.
 * @throws UsageError if the brand has a file, or no schemas.
 */
export async function dropUnusedBrand(deployment: Deployment, name: string, isApplied: boolean) {
  const { brandsDir, warehouseDatabaseUrl: url, queueUrl } = deployment;
  if (brandsDir === undefined) throw new UsageError('BRANDS_DIR is not set: nothing says which brands are in use');
  const { envFile } = placesOf(brandsDir, name);
  if (existsSync(envFile)) {
    throw new UsageError(`${envFile} is there: the brand is in use`, {
      hint: 'Remove the file first; a worker and serve give the brand up within ten seconds.',
    });
  }
  await using plain = await openWarehouse({ url, connections: 2, silenceMs: 0 });
  const stored = await storedBrands(plain.db);
  if (!stored.includes(name))
    throw new UsageError(`The warehouse has no brand ${name}, but: ${stored.join(', ') || 'none'}`);
  const contents = await contentsOf(plain.db, name);
  if (!isApplied) return { contents, isRoleKept: false };
  await using warehouse = await openWarehouse({ url, connections: 1, brand: name });
  await using queues = await openQueues(queueUrl, await queueNames(warehouse.db, { clientId: '' }, name));
  await applySchedules(queues, []);
  return { contents, isRoleKept: !(await dropBrand(plain.db, name)) };
}
