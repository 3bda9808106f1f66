import { UsageError } from '../base/errors.ts';
import { type Environment, reader } from './config-reader.ts';

/** The configuration of a process, read once from the environment. */
export type Config = Readonly<{
  shop: Readonly<ShopConfig>;
  warehouseDatabaseUrl: string;
  queueUrl: string;
  api: Readonly<{
    baseUrl: string;
    clientId: string;
    clientSecret: string;
    timeZone: string;
    concurrency: number;
    requestsPerSecond: number | undefined;
  }>;
  orderOverlapMinutes: number;
  /** Orders that one run plans and keeps in the queue at a time. */
  orderBatchSize: number;
  reviewOverlapMinutes: number;
  /** A review dated before this year is a dead letter. */
  reviewYearsFrom: number;
  /** Age up to which each reconcile reads reviews again, and the time within which it reads the older ones. */
  reconcile: Readonly<{ recentDays: number; allDays: number }>;
  orderContactMaxAgeDays: number;
  orderDeletes: 'off' | 'send';
  /** How many days of creation a reconcile reads the orders of again; 0: none. */
  orderRescanDays: number;
  /** How long the lease on an order lasts after its process stopped: longer than any request. */
  orderLeaseSeconds: number;
  schedules: Readonly<Record<'catalog' | 'orders' | 'reviews' | 'reconcile', string>>;
  scheduleTimeZone: string;
  /** The jobs of a dead worker are taken over after this many seconds at most. */
  takeOverSeconds: number;
  host: string;
  port: number;
  /** Port of a worker's metrics, on `host`; undefined: no metrics. */
  metricsPort: number | undefined;
  /** Needed for the status page; undefined: there is no page. */
  statusToken: string | undefined;
  webhooks: Readonly<{
    secret: string | undefined;
    brandIds: readonly number[];
  }>;
  alerts: Readonly<{
    /** Address for alerts; undefined: no alerts. */
    url: string | undefined;
    lagMinutes: number;
    deadLetters: number;
    /** How long an order line may wait for its product id, in days. */
    waitingDays: number;
  }>;
  logLevel: string;
}>;

/** Whether only this machine reaches what listens on the host. */
export const isLoopback = (host: string) => host === 'localhost' || host === '::1' || host.startsWith('127.');

export const logLevels = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'];

/**
 * Reads the environment into a Config.
 *
 * @throws UsageError that names every missing or malformed variable and the expected value, and quotes no secret.
 */
export function readConfig(environment: Environment): Config {
  const wrong: string[] = [];
  const read = reader(environment, wrong);

  const warehouseDatabaseUrl = read.url('WAREHOUSE_DATABASE_URL', ['postgres:', 'postgresql:']);
  const timeZone = read.timeZone('REVIEW_API_TIME_ZONE', 'Asia/Seoul');
  const config: Config = {
    shop: shopConfig(read),
    warehouseDatabaseUrl,
    queueUrl: read.url('QUEUE_URL', ['redis:', 'rediss:', 'postgres:', 'postgresql:'], warehouseDatabaseUrl),
    api: {
      baseUrl: read.baseUrl('REVIEW_API_BASE_URL'),
      clientId: read.text('REVIEW_API_CLIENT_ID'),
      clientSecret: read.text('REVIEW_API_CLIENT_SECRET'),
      timeZone,
      concurrency: read.number('REVIEW_API_CONCURRENCY', { least: 1, most: 256, integer: true }, 8),
      requestsPerSecond: read.optionalNumber('REVIEW_API_REQUESTS_PER_SECOND', { least: 0.01, most: 10_000 }),
    },
    orderOverlapMinutes: read.number('ORDER_OVERLAP_MINUTES', { least: 0, most: 525_600 }, 10),
    orderBatchSize: read.number('ORDER_BATCH_SIZE', { least: 1, most: 1_000_000 }, 50_000),
    reviewOverlapMinutes: read.number('REVIEW_OVERLAP_MINUTES', { least: 0, most: 525_600 }, 60),
    reviewYearsFrom: read.number('REVIEW_YEARS_FROM', { least: 1, most: 9999, integer: true }, 2000),
    reconcile: {
      recentDays: read.number('RECONCILE_DAYS', { least: 0, most: 36_500 }, 45),
      allDays: read.number('RECONCILE_ALL_DAYS', { least: 1, most: 36_500 }, 30),
    },
    orderContactMaxAgeDays: read.number('ORDER_CONTACT_MAX_AGE_DAYS', { least: 0, most: 36_500 }, 30),
    orderDeletes: read.oneOf('ORDER_DELETES', ['off', 'send'], 'off'),
    orderRescanDays: read.number('ORDER_RESCAN_DAYS', { least: 0, most: 36_500, integer: true }, 60),
    orderLeaseSeconds: read.number('ORDER_LEASE_SECONDS', { least: 1, most: 3600 }, 180),
    schedules: {
      catalog: read.cron('SCHEDULE_CATALOG', '0 * * * *'),
      orders: read.cron('SCHEDULE_ORDERS', '*/5 * * * *'),
      reviews: read.cron('SCHEDULE_REVIEWS', '*/15 * * * *'),
      reconcile: read.cron('SCHEDULE_RECONCILE', '30 4 * * *'),
    },
    scheduleTimeZone: read.timeZone('SCHEDULE_TIME_ZONE', timeZone),
    takeOverSeconds: read.number('TAKE_OVER_SECONDS', { least: 1, most: 3600 }, 25),
    host: read.text('HOST', '127.0.0.1'),
    port: read.number('PORT', { least: 0, most: 65_535, integer: true }, 8080),
    metricsPort: read.optionalNumber('METRICS_PORT', { least: 0, most: 65_535, integer: true }),
    statusToken: read.token('STATUS_TOKEN'),
    webhooks: {
      secret: read.pathPart('WEBHOOK_SECRET'),
      brandIds: read.integers('WEBHOOK_BRAND_IDS'),
    },
    alerts: {
      url: read.alertUrl('ALERT_WEBHOOK_URL'),
      lagMinutes: read.number('ALERT_LAG_MINUTES', { least: 1, most: 525_600 }, 60),
      deadLetters: read.number('ALERT_DEAD_LETTERS', { least: 1, most: 1_000_000_000, integer: true }, 10),
      waitingDays: read.number('ALERT_WAITING_DAYS', { least: 1, most: 36_500 }, 14),
    },
    logLevel: read.oneOf('LOG_LEVEL', logLevels, 'info'),
  };
  requireNoneWrong(wrong);
  return Object.freeze(config);
}

/** `timeZone`: that of dates without zone in the shop's queries; undefined: the shop has no such dates. */
export type ShopConfig = { url: string; sqlDir: string; timeZone: string | undefined };

/** What reading the shop needs, and nothing else. @throws UsageError as `readConfig` does. */
export function readShopConfig(environment: Environment): ShopConfig {
  const wrong: string[] = [];
  const config = shopConfig(reader(environment, wrong));
  requireNoneWrong(wrong);
  return config;
}

const shopConfig = (read: ReturnType<typeof reader>): ShopConfig => ({
  url: read.url('SHOP_DATABASE_URL', ['postgres:', 'postgresql:', 'mysql:', 'mariadb:']),
  sqlDir: read.text('SHOP_SQL_DIR', 'sql/shop'),
  timeZone: read.optionalTimeZone('SHOP_TIME_ZONE'),
});

function requireNoneWrong(wrong: readonly string[]): void {
  if (wrong.length === 0) return;
  const count = wrong.length === 1 ? 'One environment variable is' : `${wrong.length} environment variables are`;
  throw new UsageError(`${count} missing or wrong; nothing was done.\n${wrong.map((line) => `  ${line}`).join('\n')}`, {
    hint: 'Set them in the environment or in .env of the working directory; .env.example explains each one.',
  });
}
