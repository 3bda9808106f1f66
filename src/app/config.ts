import { UsageError } from '../base/errors.ts';
import { packagePath } from '../base/package-path.ts';
import {
  alertUrl,
  baseUrl,
  databaseUrl,
  type Environment,
  misspeltVariables,
  number,
  oneOf,
  openReader,
  queueUrl,
  secretPath,
  swallowedVariables,
  text,
  timeZone,
  token,
  wholeNumber,
  wholeNumbers,
} from './config-reader.ts';

const logLevels = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'];

type Reader = ReturnType<typeof openReader>;

/** What is set once, however many brands there are. */
function deploymentOf(read: Reader) {
  const { optional, required } = read;
  const warehouseDatabaseUrl = required('WAREHOUSE_DATABASE_URL', databaseUrl('postgres:', 'postgresql:'));
  return {
    /** The folder of the brands' files (src/app/brands.ts); undefined: there are no brands. */
    brandsDir: optional('BRANDS_DIR', text, undefined),
    warehouseDatabaseUrl,
    queueUrl: optional('QUEUE_URL', queueUrl, warehouseDatabaseUrl),
    /** The jobs of a dead worker are taken over after this many seconds at most. */
    takeOverSeconds: optional('TAKE_OVER_SECONDS', number(1, 3600), 25),
    host: optional('HOST', text, '127.0.0.1'),
    port: optional('PORT', wholeNumber(0, 65_535), 8080),
    /** Port of a worker's metrics, on `host`; undefined: no metrics. */
    metricsPort: optional('METRICS_PORT', wholeNumber(0, 65_535), undefined),
    /** Needed for the status page; undefined: there is no page. */
    statusToken: optional('STATUS_TOKEN', token, undefined),
    webhookSecret: optional('WEBHOOK_SECRET', secretPath, undefined),
    logLevel: logLevelOf(read),
  } as const;
}

/** @param required reads what the shop and the service need. */
function allOf(read: Reader, required = read.required) {
  const { optional, schedule } = read;
  const serviceTimeZone = optional('REVIEW_API_TIME_ZONE', timeZone, 'Asia/Seoul');
  return {
    ...deploymentOf(read),
    shop: shopOf({ ...read, required }),
    api: {
      baseUrl: required('REVIEW_API_BASE_URL', baseUrl),
      clientId: required('REVIEW_API_CLIENT_ID', text),
      clientSecret: required('REVIEW_API_CLIENT_SECRET', text),
      timeZone: serviceTimeZone,
      concurrency: optional('REVIEW_API_CONCURRENCY', wholeNumber(1, 256), 8),
      requestsPerSecond: optional('REVIEW_API_REQUESTS_PER_SECOND', number(0.01, 10_000), undefined),
    },
    orderOverlapMinutes: optional('ORDER_OVERLAP_MINUTES', number(0, 525_600), 10),
    /** Orders that one run plans and keeps in the queue at a time. */
    orderBatchSize: optional('ORDER_BATCH_SIZE', wholeNumber(1, 1_000_000), 50_000),
    reviewOverlapMinutes: optional('REVIEW_OVERLAP_MINUTES', number(0, 525_600), 60),
    /** A review dated before this year is a dead letter. */
    reviewYearsFrom: optional('REVIEW_YEARS_FROM', wholeNumber(1, 9999), 2000),
    /** Age up to which each reconcile reads reviews again, and the time within which it reads the older ones. */
    reconcile: {
      recentDays: optional('RECONCILE_DAYS', number(0, 36_500), 45),
      allDays: optional('RECONCILE_ALL_DAYS', number(1, 36_500), 30),
    },
    orderContactMaxAgeDays: optional('ORDER_CONTACT_MAX_AGE_DAYS', number(0, 36_500), 30),
    orderDeletes: optional('ORDER_DELETES', oneOf(['off', 'send']), 'off'),
    /** How many days of creation a reconcile reads the orders of again; 0: none. */
    orderRescanDays: optional('ORDER_RESCAN_DAYS', wholeNumber(0, 36_500), 60),
    /** How long the lease on an order lasts after its process stopped: longer than any request. */
    orderLeaseSeconds: optional('ORDER_LEASE_SECONDS', number(1, 3600), 180),
    schedules: {
      catalog: schedule('SCHEDULE_CATALOG', '0 * * * *'),
      orders: schedule('SCHEDULE_ORDERS', '*/5 * * * *'),
      reviews: schedule('SCHEDULE_REVIEWS', '*/15 * * * *'),
      reconcile: schedule('SCHEDULE_RECONCILE', '30 4 * * *'),
    },
    scheduleTimeZone: optional('SCHEDULE_TIME_ZONE', timeZone, serviceTimeZone),
    webhookBrandIds: optional('WEBHOOK_BRAND_IDS', wholeNumbers, []),
    alerts: {
      /** Address for alerts; undefined: no alerts. */
      url: optional('ALERT_WEBHOOK_URL', alertUrl, undefined),
      lagMinutes: optional('ALERT_LAG_MINUTES', number(1, 525_600), 60),
      deadLetters: optional('ALERT_DEAD_LETTERS', wholeNumber(1, 1_000_000_000), 10),
      /** How long an order line may wait for its product id, in days. */
      waitingDays: optional('ALERT_WAITING_DAYS', number(1, 36_500), 14),
    },
  } as const;
}

const logLevelOf = ({ optional }: Reader, usual = 'info') => optional('LOG_LEVEL', oneOf(logLevels), usual);

const shopOf = ({ required, optional }: Reader) => ({
  url: required('SHOP_DATABASE_URL', databaseUrl('postgres:', 'postgresql:', 'mysql:', 'mariadb:')),
  sqlDir: optional('SHOP_SQL_DIR', text, 'sql/shop'),
  /** The zone of dates without zone in the shop's queries; undefined: the shop has no such dates. */
  timeZone: optional('SHOP_TIME_ZONE', timeZone, undefined),
});

/** The configuration of a process, read once from the environment. */
export type Config = Readonly<ReturnType<typeof allOf>> & {
  /** The brand whose schemas are used; undefined without BRANDS_DIR. */
  readonly brand: string | undefined;
  /** How long a statement waits for a lock of another session; undefined: without an end. */
  readonly lockSeconds?: number | undefined;
};
/**
 * How long the status, and a command that does one brand after the other, wait for a lock, in seconds. Our own statements
 * hold their locks for less, except those that count all reviews.
 */
export const shortLockSeconds = 5;

/** What all brands of a process share. */
export type Deployment = Readonly<ReturnType<typeof deploymentOf>>;
export type ShopConfig = Readonly<ReturnType<typeof shopOf>>;

/**
 * Reads the environment into a Config.
 *
 * @throws UsageError that names every missing or malformed variable and the expected value, and quotes no secret.
 */
export const readConfig = (environment: Environment, brand?: string, read = allOf): Config =>
  Object.freeze({ ...readAll(environment, read, brand), brand });

/**
 * The configuration of a command that only reads the warehouse: what it lacks of shop and service is an empty text.
 *
 * @throws UsageError as `readConfig` does.
 */
export const readWarehouseConfig = (environment: Environment, brand?: string): Config =>
  readConfig(environment, brand, (read) => allOf(read, (name, kind) => read.optional(name, kind, '' as never)));

/** Whether shop and service are named, which `readWarehouseConfig` does not require. */
export const isWhole = ({ shop, api }: Config): boolean => shop.url !== '' && api.baseUrl !== '' && api.clientId !== '';

/** What all brands of a deployment share. @throws UsageError as `readConfig` does. */
export const readDeployment = (environment: Environment): Deployment => readAll(environment, deploymentOf);

/** Some commands read no configuration, and LOG_LEVEL holds for them too. @throws UsageError as `readConfig` does. */
export const readLogLevel = (environment: Environment, usual: string): string =>
  readAll(environment, (read) => logLevelOf(read, usual));

/** What reading the shop needs, and nothing else. @throws UsageError as `readConfig` does. */
export const readShopConfig = (environment: Environment): ShopConfig => readAll(environment, shopOf);

function readAll<T>(environment: Environment, read: (reader: Reader) => T, brand?: string): T {
  const wrong: string[] = [];
  const known = new Set<string>();
  const get = (values: Environment, name: string) => known.add(name) && values[name];
  const config = read(openReader(new Proxy(environment, { get }), wrong));
  wrong.push(...misspeltVariables(Object.keys(environment), known), ...swallowedVariables(environment, known));
  if (wrong.length === 0) return Object.freeze(config);
  const count = wrong.length === 1 ? 'One environment variable is' : `${wrong.length} environment variables are`;
  throw new UsageError(`${count} missing or wrong:\n${wrong.map((line) => `  ${line}`).join('\n')}`, {
    hint: `Set them in ${brand === undefined ? '' : `the file ${brand}.env of BRANDS_DIR, `}the environment or .env of the working directory; ${packagePath('.env.example')} explains each one.`,
  });
}
