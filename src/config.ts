import { exampleUrl, isBaseUrl, isCronPattern, isNetwork } from './config-values.ts';
import { UsageError } from './errors.ts';
import { isTimeZone } from './span.ts';

/** What a process needs to know, read once from the environment (CONTRACT, "Environment"). */
export type Config = Readonly<{
  shopDatabaseUrl: string;
  shopSqlDir: string;
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
  reviewOverlapMinutes: number;
  /** What each reconcile reads again, and how long the rest may wait. */
  reconcile: Readonly<{ recentDays: number; allDays: number }>;
  orderContactMaxAgeDays: number;
  orderDeletes: 'off' | 'send';
  schedules: Readonly<Record<'catalog' | 'orders' | 'reviews' | 'reconcile', string>>;
  scheduleTimeZone: string;
  host: string;
  port: number;
  /** Where a worker serves its metrics, on `host`; undefined: nowhere. */
  metricsPort: number | undefined;
  trustedProxies: readonly string[];
  /** Who shows it may see the status page. */
  statusToken: string | undefined;
  webhooks: Readonly<{
    secret: string | undefined;
    hmacSecret: string | undefined;
    hmacHeader: string;
    allow: readonly string[];
    brandIds: readonly number[];
  }>;
  alerts: Readonly<{
    /** Where alerts are posted; undefined: nowhere. */
    url: string | undefined;
    lagMinutes: number;
    deadLetters: number;
  }>;
  logLevel: string;
}>;

type Environment = Readonly<Record<string, string | undefined>>;

export const logLevels = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'];

/**
 * Reads the environment into a Config.
 *
 * @throws UsageError naming every variable that is missing or malformed, what a right value looks like, and no value
 *   that could hold a secret.
 */
export function readConfig(environment: Environment): Config {
  const wrong: string[] = [];
  const read = reader(environment, wrong);

  const warehouseDatabaseUrl = read.url('WAREHOUSE_DATABASE_URL', ['postgres:', 'postgresql:']);
  const timeZone = read.timeZone('REVIEW_API_TIME_ZONE', 'Asia/Seoul');
  const config: Config = {
    shopDatabaseUrl: read.url('SHOP_DATABASE_URL', ['postgres:', 'postgresql:']),
    shopSqlDir: read.text('SHOP_SQL_DIR', 'sql/shop'),
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
    reviewOverlapMinutes: read.number('REVIEW_OVERLAP_MINUTES', { least: 0, most: 525_600 }, 60),
    reconcile: {
      recentDays: read.number('RECONCILE_DAYS', { least: 0, most: 36_500 }, 45),
      allDays: read.number('RECONCILE_ALL_DAYS', { least: 1, most: 36_500 }, 30),
    },
    orderContactMaxAgeDays: read.number('ORDER_CONTACT_MAX_AGE_DAYS', { least: 0, most: 36_500 }, 30),
    orderDeletes: read.oneOf('ORDER_DELETES', ['off', 'send'], 'off'),
    schedules: {
      catalog: read.cron('SCHEDULE_CATALOG', '0 * * * *'),
      orders: read.cron('SCHEDULE_ORDERS', '*/5 * * * *'),
      reviews: read.cron('SCHEDULE_REVIEWS', '*/15 * * * *'),
      reconcile: read.cron('SCHEDULE_RECONCILE', '30 4 * * *'),
    },
    scheduleTimeZone: read.timeZone('SCHEDULE_TIME_ZONE', timeZone),
    host: read.text('HOST', '127.0.0.1'),
    port: read.number('PORT', { least: 0, most: 65_535, integer: true }, 8080),
    metricsPort: read.optionalNumber('METRICS_PORT', { least: 0, most: 65_535, integer: true }),
    trustedProxies: read.addresses('TRUSTED_PROXIES'),
    statusToken: read.optionalText('STATUS_TOKEN'),
    webhooks: {
      secret: read.pathPart('WEBHOOK_SECRET'),
      hmacSecret: read.optionalText('WEBHOOK_HMAC_SECRET'),
      hmacHeader: read.text('WEBHOOK_HMAC_HEADER', 'x-signature').toLowerCase(),
      allow: read.addresses('WEBHOOK_ALLOW'),
      brandIds: read.integers('WEBHOOK_BRAND_IDS'),
    },
    alerts: {
      url: read.optionalUrl('ALERT_WEBHOOK_URL', ['http:', 'https:']),
      lagMinutes: read.number('ALERT_LAG_MINUTES', { least: 1, most: 525_600 }, 60),
      deadLetters: read.number('ALERT_DEAD_LETTERS', { least: 1, most: 1_000_000_000, integer: true }, 10),
    },
    logLevel: read.oneOf('LOG_LEVEL', logLevels, 'info'),
  };
  if (wrong.length > 0) {
    const count = wrong.length === 1 ? 'One environment variable is' : `${wrong.length} environment variables are`;
    throw new UsageError(
      `${count} missing or wrong; nothing was done.\n${wrong.map((line) => `  ${line}`).join('\n')}`,
      {
        hint: 'Set them in the environment or in .env of the working directory; .env.example explains each one.',
      },
    );
  }
  return Object.freeze(config);
}

/** One function a kind of value. Each takes note of what is wrong and goes on, so that all is told at once. */
function reader(environment: Environment, wrong: string[]) {
  const given = (name: string) => {
    const value = environment[name]?.trim();
    return value === '' ? undefined : value;
  };
  const fail = (name: string, expected: string): void => {
    wrong.push(`${name} ${given(name) === undefined ? 'is missing' : 'is malformed'}: expected ${expected}`);
  };

  function text(name: string, fallback?: string): string {
    const value = given(name) ?? fallback;
    if (value === undefined) fail(name, 'a text');
    return value ?? '';
  }

  function url(name: string, protocols: readonly string[], fallback?: string): string {
    const value = given(name) ?? fallback ?? '';
    if (value === fallback) return value;
    const parsed = URL.canParse(value) ? new URL(value) : undefined;
    if (!parsed || !protocols.includes(parsed.protocol) || parsed.hostname === '') {
      fail(name, `an address such as ${exampleUrl(protocols)} (the value is not shown, it may hold a password)`);
    }
    return value;
  }

  function baseUrl(name: string): string {
    const value = url(name, ['http:', 'https:']);
    if (URL.canParse(value) && !isBaseUrl(value)) fail(name, 'an address without user, password, ? and #');
    return value;
  }

  const optionalUrl = (name: string, protocols: readonly string[]) =>
    given(name) === undefined ? undefined : url(name, protocols);

  function optionalNumber(name: string, limits: { least: number; most: number; integer?: boolean }) {
    const value = given(name);
    if (value === undefined) return undefined;
    const number = /^\d+(\.\d+)?$/.test(value) ? Number(value) : Number.NaN;
    const right = number >= limits.least && number <= limits.most && (!limits.integer || Number.isInteger(number));
    if (!right) {
      const kind = limits.integer ? 'a whole number' : 'a number';
      fail(name, `${kind} from ${limits.least} to ${limits.most}, found ${JSON.stringify(value)}`);
    }
    return number;
  }

  function number(name: string, limits: { least: number; most: number; integer?: boolean }, fallback: number): number {
    return optionalNumber(name, limits) ?? fallback;
  }

  function oneOf<T extends string>(name: string, allowed: readonly T[], fallback: T): T {
    const value = given(name) ?? fallback;
    const found = allowed.find((one) => one === value);
    if (found === undefined) fail(name, `one of ${allowed.join(', ')}, found ${JSON.stringify(value)}`);
    return found ?? fallback;
  }

  function timeZone(name: string, fallback: string): string {
    const value = given(name) ?? fallback;
    if (!isTimeZone(value)) fail(name, `an IANA time zone such as Asia/Seoul, found ${JSON.stringify(value)}`);
    return value;
  }

  /** Five or six fields; an empty value turns the schedule off, which differs from leaving it out. */
  function cron(name: string, fallback: string): string {
    const value = environment[name]?.trim() ?? fallback;
    if (value !== '' && !isCronPattern(value)) {
      fail(name, `a cron pattern such as "${fallback}" or nothing, found ${JSON.stringify(value)}`);
    }
    return value;
  }

  /** A part of a path. */
  function pathPart(name: string): string | undefined {
    const value = given(name);
    if (value !== undefined && !/^[\w.~-]{1,200}$/.test(value)) {
      fail(name, 'letters, digits or . _ ~ - (the value is not shown)');
    }
    return value;
  }

  function list(name: string, isRight: (item: string) => boolean, expected: string): string[] {
    const items = (given(name) ?? '').split(',').flatMap((item) => item.trim() || []);
    const wrong = items.filter((item) => !isRight(item));
    if (wrong.length > 0) fail(name, `${expected}, found ${JSON.stringify(wrong[0])}`);
    return items;
  }

  const addresses = (name: string) =>
    list(name, isNetwork, 'addresses or networks such as 203.0.113.7,10.0.0.0/8, separated by commas');
  const integers = (name: string) =>
    list(name, (item) => /^\d{1,15}$/.test(item), 'whole numbers separated by commas').map(Number);

  return {
    text,
    url,
    baseUrl,
    optionalUrl,
    number,
    optionalNumber,
    oneOf,
    timeZone,
    cron,
    pathPart,
    addresses,
    integers,
    optionalText: given,
  };
}
