import { existsSync } from 'node:fs';
import { UsageError } from '../base/errors.ts';
import { migrateQueue } from '../queue/connection.ts';
import { openQueues } from '../queue/index.ts';
import { applySchedules } from '../queue/schedules.ts';
import {
  contentsOf,
  dropBrand,
  dropUnion,
  hasPlainSchemas,
  isInUnion,
  makeUnion,
  moveToBrand,
  ownerOf,
  storedBrands,
} from '../warehouse/bi/all-brands.ts';
import { prepareBi } from '../warehouse/bi/bi-access.ts';
import { connectedService, isSameAccount, queueNames } from '../warehouse/connected-service.ts';
import { type Db, openWarehouse, type Warehouse } from '../warehouse/index.ts';
import { compareMigrations, migrateWarehouse } from '../warehouse/migrate.ts';
import { type Brand, configOf, placesOf } from './brands.ts';
import type { Config, Deployment } from './config.ts';
import { ownedBy, serviceOf } from './require-same-service.ts';

/**
 * Brings the schemas and the queue up to date. If a migration is pending, first drops the views of `bi` over all
 * brands. `completeUnion` creates them again.
 *
 * @param unbranded the database without the schemas of a brand.
 * @throws UsageError if the schemas belong to another brand, or to no brand.
 */
export async function migrateSchemas(warehouse: Warehouse, unbranded: Db, config: Config) {
  const { db, brand } = warehouse;
  await requireOwnSchemas(unbranded, config);
  if (brand !== undefined && (await compareMigrations(db)).pending.length > 0) await dropUnion(unbranded);
  const applied = await migrateWarehouse(db);
  const biReader = await prepareBi(warehouse, config.api);
  await migrateQueue(config.queueUrl);
  return { applied, biReader };
}

/**
 * Refuses new schemas for an account that has schemas under another brand. The brand was renamed, and all its orders
 * would be pushed again, with the contact data of their customers.
 */
async function requireOwnSchemas(unbranded: Db, { brand, api }: Config): Promise<void> {
  const isPlain = await hasPlainSchemas(unbranded);
  const stored = await storedBrands(unbranded);
  if (brand === undefined && stored.length > 0 && !isPlain) {
    throw new UsageError(`The warehouse has the brands ${stored.join(', ')}, and BRANDS_DIR is not set`, {
      hint: 'Set it. Or let WAREHOUSE_DATABASE_URL name another database.',
    });
  }
  if (brand !== undefined && isPlain) {
    throw new UsageError('The warehouse has the schemas of one shop, without brands', {
      hint: 'Make them those of a brand: review-sync migrate --as-brand NAME. Or let WAREHOUSE_DATABASE_URL name another database.',
    });
  }
  if (brand === undefined || stored.includes(brand)) return;
  const owner = await ownerOf(unbranded, serviceOf(api));
  if (owner !== undefined) throw ownedBy(owner);
}

/**
 * If the views of `bi` over all brands lack a brand, creates them again. Called once, after the last brand.
 *
 * @param like the brand with the model views. If it has no schemas, another brand is used.
 */
export async function completeUnion(url: string, like: string): Promise<void> {
  await using unbranded = await openWarehouse({ url, connections: 1, silenceMs: 0 });
  const { db } = unbranded;
  const stored = await storedBrands(db);
  const model = stored.includes(like) ? like : stored[0];
  if (model === undefined) return;
  const areIn = await Promise.all(stored.map((brand) => isInUnion(db, brand)));
  if (areIn.every(Boolean)) return;
  // Postgres refuses to replace a view by one with its columns in another order.
  await makeUnion(db, model).catch(() => dropUnion(db).then(() => makeUnion(db, model)));
}

/** Moves the warehouse without brands to a brand. @throws UsageError if it is missing, or has another account. */
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
    const what = `The warehouse belongs to another account than that of ${name}.env: its orders are at another service`;
    throw new UsageError(what);
  }
  await moveToBrand(plain.db, name);
  await using warehouse = await openWarehouse({ ...opened, brand: name });
  await prepareBi(warehouse, config.api);
  await makeUnion(plain.db, name);
}

/**
 * Counts what the warehouse holds of a brand that is no longer in use. With `isApplied`, drops its schedules, schemas
 * and role. `isRoleKept`: another database or a login uses the role.
 *
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
