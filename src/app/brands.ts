import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describeError, UsageError } from '../base/errors.ts';
import { readEnvFile } from '../base/parse-env-file.ts';
import { brandName } from '../warehouse/brand.ts';
import { isSameAccount } from '../warehouse/connected-service.ts';
import { type Config, type Environment, readConfig } from './config.ts';
import { serviceOf } from './require-same-service.ts';

/** A brand of BRANDS_DIR. Without BRANDS_DIR there is one brand, with `name` undefined. */
export type Brand = {
  name: string | undefined;
  /** The environment with the brand's file over it. */
  environment: Environment;
  /** The error in the brand's file. A brand with a fault cannot be used; the others can. */
  fault?: UsageError | undefined;
  /** Its file cannot be read, so its WEBHOOK_BRAND_IDS are unknown. */
  isUnread?: boolean;
};

/** Variables that name the shop and the account of a brand. With BRANDS_DIR, only the file of a brand may set them. */
const ofOneBrand = [
  'SHOP_DATABASE_URL',
  'SHOP_SQL_DIR',
  'REVIEW_API_CLIENT_ID',
  'REVIEW_API_CLIENT_SECRET',
  'WEBHOOK_BRAND_IDS',
];

/** Variables that the file of a brand may set. All others are set in .env, once for the deployment. */
const mayStandInBrand = /^(SHOP|REVIEW_API|REVIEW|ORDER|SCHEDULE|RECONCILE|ALERT)_|^WEBHOOK_BRAND_IDS$/;

/**
 * Reads the brands of BRANDS_DIR, sorted by name; undefined without BRANDS_DIR. An error in a file is the `fault` of
 * its brand. If two brands share an account or a brand id, both have a fault.
 *
 * @throws UsageError if BRANDS_DIR has no brand, or the environment has a variable that belongs in a brand's file.
 */
export function readBrands(environment: Environment): Brand[] | undefined {
  const folder = environment.BRANDS_DIR?.trim() ?? '';
  if (folder === '') return undefined;
  const wrongPlace = ofOneBrand.filter((name) => (environment[name] ?? '').trim() !== '');
  if (wrongPlace.length > 0) {
    throw new UsageError(
      `With BRANDS_DIR, ${wrongPlace.join(', ')} must not be in the environment or in .env: expected in ${join(folder, '<brand>.env')}`,
      { hint: 'Each brand has a shop and an account of its own. Move these lines into the files of the brands.' },
    );
  }
  const brands = namesIn(folder).map((name) => readBrand(folder, name, environment));
  if (brands.length === 0) {
    const what = `BRANDS_DIR is ${JSON.stringify(folder)}, expected a folder with a file <brand>.env for each brand`;
    throw new UsageError(what, { hint: 'Make one: review-sync init --brand NAME' });
  }
  const all = brands.map((brand) => ({ brand, ...ownOf(brand.environment) }));
  return all.map((one) => ({ ...one.brand, fault: one.brand.fault ?? sharing(one, all) }));
}

function namesIn(folder: string): string[] {
  try {
    const files = readdirSync(folder).filter((file) => file.endsWith('.env') && !file.startsWith('.'));
    return files.map((file) => file.slice(0, -'.env'.length)).sort();
  } catch (cause) {
    throw new UsageError(`BRANDS_DIR is ${JSON.stringify(folder)}, which cannot be read: ${describeError(cause)}`);
  }
}

/** The file of a brand, and the folder of its shop queries. */
export const placesOf = (folder: string, name: string) => ({
  envFile: join(folder, `${name}.env`),
  sqlDir: join(folder, name),
});

/** @throws UsageError if the name cannot be part of a schema name. */
export function requireBrandName(name: string): void {
  if (brandName.test(name)) return;
  throw new UsageError(
    `The brand ${JSON.stringify(name)} has no usable name: expected a letter a-z, then up to 30 of a-z, 0-9 and _`,
  );
}

function readBrand(folder: string, name: string, environment: Environment): Brand {
  const { envFile, sqlDir } = placesOf(folder, name);
  const own = { ...environment, SHOP_SQL_DIR: sqlDir };
  try {
    requireBrandName(name);
    const given = readEnvFile(envFile);
    const foreign = Object.keys(given).filter((one) => !mayStandInBrand.test(one));
    const misplaced = new UsageError(`${envFile} has ${foreign.join(', ')}: expected in .env, once for all brands`, {
      hint: 'A brand’s file says its shop, account, zones, schedules, contact, alerts and WEBHOOK_BRAND_IDS.',
    });
    return { name, environment: environmentOf(own, given), fault: foreign.length > 0 ? misplaced : undefined };
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    return { name, environment: own, fault: error, isUnread: true };
  }
}

/**
 * The environment of a brand: .env with the file of the brand over it. If both set mails or deletions, the stricter
 * value counts, as between a run and its process (promise 7): 0 or off in .env stops all brands. A malformed value of
 * .env stays, so that the brand is refused: a person may have meant to stop it.
 */
function environmentOf(all: Environment, own: Environment): Environment {
  const days = all.ORDER_CONTACT_MAX_AGE_DAYS?.trim() ?? '';
  const ownDays = own.ORDER_CONTACT_MAX_AGE_DAYS?.trim() ?? '';
  const isStricter = ownDays === '' || Number(days) < Number(ownDays) || Number.isNaN(Number(days));
  const deletes = all.ORDER_DELETES?.trim() ?? '';
  return {
    ...all,
    ...own,
    ...(days !== '' && isStricter && { ORDER_CONTACT_MAX_AGE_DAYS: days }),
    ...(deletes !== '' && deletes !== 'send' && { ORDER_DELETES: deletes }),
  };
}

/**
 * Settings that no two brands may share. A shared `account` would get the orders of two shops. With shared `orders`, as
 * after a copy of a brand's file, two brands would mail one customer. With a shared brand id, its webhooks would be
 * stored twice.
 */
function ownOf(environment: Environment) {
  const read = (name: string) => environment[name]?.trim() ?? '';
  const baseUrl = read('REVIEW_API_BASE_URL');
  const clientId = read('REVIEW_API_CLIENT_ID');
  const account = baseUrl !== '' && clientId !== '' ? serviceOf({ baseUrl, clientId }) : undefined;
  const url = read('SHOP_DATABASE_URL');
  let orders: string | undefined;
  try {
    if (url !== '') orders = `${url} ${readFileSync(join(environment.SHOP_SQL_DIR ?? '', 'orders.sql'), 'utf8')}`;
  } catch {
    // The error fails only that brand, later.
  }
  return { account, orders, ids: brandIdsOf(environment) };
}

type Owner = ReturnType<typeof ownOf> & { brand: Brand };

/** The fault of a brand that shares such a setting with another brand. */
function sharing({ brand, account, orders, ids }: Owner, all: readonly Owner[]): UsageError | undefined {
  for (const other of all) {
    if (other.brand === brand || other.brand.fault) continue;
    const both = `The brands ${[brand.name, other.brand.name].sort().join(' and ')}`;
    if (account && other.account && isSameAccount(account, other.account)) {
      const hint = 'Give each brand its own account, or remove one of the two files.';
      return new UsageError(`${both} have the same REVIEW_API_BASE_URL and REVIEW_API_CLIENT_ID`, { hint });
    }
    if (orders !== undefined && orders === other.orders) {
      const what = `${both} have the same SHOP_DATABASE_URL and the same orders.sql: both would mail the customers of that shop`;
      return new UsageError(what, { hint: 'Correct the line, or let each orders.sql select the orders of its brand.' });
    }
    const id = ids.find((one) => other.ids.includes(one));
    if (id !== undefined) return new UsageError(`${both} both have ${id} in WEBHOOK_BRAND_IDS`);
  }
  return undefined;
}

export const brandIdsOf = ({ WEBHOOK_BRAND_IDS: ids = '' }: Environment) =>
  ids.split(',').flatMap((id) => (/^\s*\d+\s*$/.test(id) ? [Number(id)] : []));

/** The configuration of a brand. @throws UsageError with the error and its file. */
export function configOf({ name, environment, fault }: Brand, read = readConfig): Config {
  if (fault) throw fault;
  return read(environment, name);
}
