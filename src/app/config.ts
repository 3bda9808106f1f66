import { CronExpressionParser } from 'cron-parser';
import * as v from 'valibot';
import { UsageError } from '../base/errors.ts';
import { packagePath } from '../base/package-path.ts';
import { isTimeZone } from '../base/time/span.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

/** Reads the value of a variable from its text. The message of an issue says what was expected. */
type Kind<T> = v.GenericSchema<string, T>;

type Message = string | ((issue: v.BaseIssue<unknown>) => string);

const check = (isRight: (value: string) => boolean, message: Message) => v.pipe(v.string(), v.check(isRight, message));

/** Shows a wrong value: for kinds that hold no secret. */
const withValue = (expected: string) => (issue: v.BaseIssue<unknown>) =>
  `${expected}, found ${JSON.stringify(issue.input)}`;

const text = v.string();

/** The example has no password: it would be masked. */
const address = (protocols: readonly string[], example = `${protocols[0]}//user@host:port/name`) =>
  check((value) => {
    const url = URL.parse(value);
    return url !== null && protocols.includes(url.protocol) && url.hostname !== '';
  }, `an address such as ${example}`);

const postgres = ['postgres:', 'postgresql:'];

/** A path that is not a number would silently mean another database of a Redis. */
const queueUrl = v.pipe(
  address(['redis:', 'rediss:', ...postgres]),
  v.check(
    (value) => !/^rediss?:/.test(value) || /^(\/\d*)?$/.test(new URL(value).pathname),
    'the number of a database behind the host of a Redis, such as redis://host:6379/0',
  ),
);

/** `fetch` refuses an address with user and password, and its message quotes them. */
const httpUrl = v.pipe(
  address(['http:', 'https:'], 'https://reviews.example.com'),
  v.check((value) => new URL(value).username + new URL(value).password === '', 'an address without user and password'),
);

/** Gives each address one spelling: processes find their shared token and hold by the address. */
const baseUrl = v.pipe(
  httpUrl,
  v.check((value) => !/[?#]/.test(value), 'an address without ? and #'),
  v.transform((value) => `${new URL(value).origin}${new URL(value).pathname.replace(/\/+$/, '')}`),
);

const isPlaceholder = (value: string) => /change.?me|replace.?me|^(.)\1*$/i.test(value);

/** Must not be guessable: 16 random hexadecimal digits have 64 bits. */
const token = check(
  (value) => value.length >= 16 && !isPlaceholder(value),
  'at least 16 characters made at random, such as by: openssl rand -hex 24',
);

/** A part of a path that must not be guessable. */
const secretPath = check(
  (value) => /^[\w.~-]{16,200}$/.test(value) && !isPlaceholder(value),
  '16 to 200 letters, digits or . _ ~ - made at random',
);

const numeric = (pattern: RegExp, expected: string) => (least: number, most: number) =>
  v.pipe(
    check(
      (value) => pattern.test(value) && Number(value) >= least && Number(value) <= most,
      withValue(`${expected} from ${least} to ${most}`),
    ),
    v.transform(Number),
  );

export const number = numeric(/^\d+(\.\d+)?$/, 'a number');
export const wholeNumber = numeric(/^\d+(\.0+)?$/, 'a whole number');

const wholeNumbers = v.pipe(
  check(
    (value) => value.split(',').every((item) => /^\s*\d{0,15}\s*$/.test(item)),
    withValue('whole numbers separated by commas'),
  ),
  v.transform((value) => value.split(',').flatMap((item) => (item.trim() === '' ? [] : Number(item)))),
);

const oneOf = <const T extends string>(allowed: readonly T[]) =>
  v.picklist(allowed, withValue(`one of ${allowed.join(', ')}`));

const logLevel = oneOf(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']);

export const timeZone = check(isTimeZone, withValue('an IANA time zone such as Asia/Seoul'));

/** Five or six fields, checked with the parser that BullMQ uses. */
const cron = check((pattern) => {
  if (pattern.split(/\s+/).length < 5) return false;
  try {
    // Some valid patterns match no day, such as the 31st of April. In UTC no clock change hides the next run.
    CronExpressionParser.parse(pattern, { tz: 'UTC' }).next();
    return true;
  } catch {
    return false;
  }
}, withValue('a cron pattern such as "*/5 * * * *" or nothing'));

type Reader = ReturnType<typeof openReader>;

/** Adds missing and malformed variables to `wrong`, and reads on, so that one reading names all of them. */
function openReader(environment: Environment, wrong: string[]) {
  const textOf = (name: string) => environment[name]?.trim() ?? '';

  function read<T, F>(name: string, kind: Kind<T>, value: string, fallback: F): T | F {
    const result = v.safeParse(kind, value, { abortEarly: true, abortPipeEarly: true });
    if (result.success && value !== '') return result.output;
    const expected = result.success ? 'a text' : result.issues[0].message;
    wrong.push(`${name} is ${value === '' ? 'missing' : 'malformed'}: expected ${expected}`);
    return fallback;
  }

  function optional<T, F>(name: string, kind: Kind<T>, fallback: F): T | F {
    return textOf(name) === '' ? fallback : read(name, kind, textOf(name), fallback);
  }

  return {
    optional,
    required: <T>(name: string, kind: Kind<T>): T => read(name, kind, textOf(name), undefined as T),
    /** Without a value a schedule has its default; an empty value turns it off. */
    schedule: (name: string, usual: string): string =>
      environment[name]?.trim() === '' ? '' : optional(name, cron, usual),
  };
}

/** Settings that are set once for all brands. */
function deploymentOf(read: Reader) {
  const { optional, required } = read;
  const warehouseDatabaseUrl = required('WAREHOUSE_DATABASE_URL', address(postgres));
  return {
    /** The folder of the brands' files (src/app/brands.ts). Undefined: no brands. */
    brandsDir: optional('BRANDS_DIR', text, undefined),
    warehouseDatabaseUrl,
    queueUrl: optional('QUEUE_URL', queueUrl, warehouseDatabaseUrl),
    /** The jobs of a dead worker are taken over after at most this many seconds. */
    takeOverSeconds: optional('TAKE_OVER_SECONDS', number(1, 3600), 25),
    host: optional('HOST', text, '127.0.0.1'),
    port: optional('PORT', wholeNumber(0, 65_535), 8080),
    /** Port of a worker's metrics, on `host`; undefined: no metrics. */
    metricsPort: optional('METRICS_PORT', wholeNumber(0, 65_535), undefined),
    /** Needed for the status page. Undefined: no page. */
    statusToken: optional('STATUS_TOKEN', token, undefined),
    webhookSecret: optional('WEBHOOK_SECRET', secretPath, undefined),
    logLevel: optional('LOG_LEVEL', logLevel, 'info'),
  } as const;
}

/** @param required reads variables that the shop and the service need. */
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
    /** Orders that one run plans and queues at a time. */
    orderBatchSize: optional('ORDER_BATCH_SIZE', wholeNumber(1, 1_000_000), 50_000),
    reviewOverlapMinutes: optional('REVIEW_OVERLAP_MINUTES', number(0, 525_600), 60),
    /** A review dated before this year is a dead letter. */
    reviewYearsFrom: optional('REVIEW_YEARS_FROM', wholeNumber(1, 9999), 2000),
    /** Up to `recentDays` of age, each reconcile reads reviews again. It reads older reviews within `allDays`. */
    reconcile: {
      recentDays: optional('RECONCILE_DAYS', number(0, 36_500), 45),
      allDays: optional('RECONCILE_ALL_DAYS', number(1, 36_500), 30),
    },
    orderContactMaxAgeDays: optional('ORDER_CONTACT_MAX_AGE_DAYS', number(0, 36_500), 30),
    orderDeletes: optional('ORDER_DELETES', oneOf(['off', 'send']), 'off'),
    /** The rescan reads orders of this many days of creation again; 0: none. */
    orderRescanDays: optional('ORDER_RESCAN_DAYS', wholeNumber(0, 36_500), 60),
    /** How long the lease of an order lasts after its process stopped: longer than any request. */
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
      url: optional('ALERT_WEBHOOK_URL', httpUrl, undefined),
      lagMinutes: optional('ALERT_LAG_MINUTES', number(1, 525_600), 60),
      deadLetters: optional('ALERT_DEAD_LETTERS', wholeNumber(1, 1_000_000_000), 10),
      /** How long an order line may wait for its product id, in days. */
      waitingDays: optional('ALERT_WAITING_DAYS', number(1, 36_500), 14),
    },
  } as const;
}

const shopOf = ({ required, optional }: Pick<Reader, 'required' | 'optional'>) => ({
  url: required('SHOP_DATABASE_URL', address([...postgres, 'mysql:', 'mariadb:'])),
  sqlDir: optional('SHOP_SQL_DIR', text, 'sql/shop'),
  /** The zone of dates without zone in the shop's queries. Undefined: no such dates. */
  timeZone: optional('SHOP_TIME_ZONE', timeZone, undefined),
});

/** The configuration of a process, read once from the environment. */
export type Config = Readonly<ReturnType<typeof allOf>> & {
  /** The brand of the schemas; undefined without BRANDS_DIR. */
  readonly brand: string | undefined;
  /** How long a statement waits for a lock of another session; undefined: without an end. */
  readonly lockSeconds?: number | undefined;
};

/**
 * How long the status, and a command that handles one brand after the other, wait for a lock, in seconds. Our own
 * statements hold locks for less, except counts of all reviews.
 */
export const shortLockSeconds = 5;

/** Settings that all brands of a process share. */
export type Deployment = Readonly<ReturnType<typeof deploymentOf>>;
export type ShopConfig = Readonly<ReturnType<typeof shopOf>>;

/**
 * Reads the environment into a Config.
 *
 * @throws UsageError, like all readers below, with every missing or malformed variable and the expected value. It
 *   quotes no secret.
 */
export const readConfig = (environment: Environment, brand?: string, read = allOf): Config =>
  Object.freeze({ ...readAll(environment, read, brand), brand });

/** For a command that only reads the warehouse: missing variables of shop and service become empty. */
export const readWarehouseConfig = (environment: Environment, brand?: string): Config =>
  readConfig(environment, brand, (read) => allOf(read, (name, kind) => read.optional(name, kind, '' as never)));

/** Whether shop and service are configured: `readWarehouseConfig` does not require them. */
export const isWhole = ({ shop, api }: Config): boolean => shop.url !== '' && api.baseUrl !== '' && api.clientId !== '';

export const readDeployment = (environment: Environment): Deployment => readAll(environment, deploymentOf);

/** Reads LOG_LEVEL for commands that read no other configuration. */
export const readLogLevel = (environment: Environment, usual: string): string =>
  readAll(environment, ({ optional }) => ({ level: optional('LOG_LEVEL', logLevel, usual) })).level;

/** Reads only what reading the shop needs. */
export const readShopConfig = (environment: Environment): ShopConfig => readAll(environment, shopOf);

function readAll<T>(environment: Environment, read: (reader: Reader) => T, brand?: string): T {
  const wrong: string[] = [];
  const known = new Set<string>();
  const get = (values: Environment, name: string) => known.add(name) && values[name];
  const config = read(openReader(new Proxy(environment, { get }), wrong));
  wrong.push(...unreadVariables(environment, known));
  if (wrong.length === 0) return Object.freeze(config);
  const count = wrong.length === 1 ? 'One environment variable is' : `${wrong.length} environment variables are`;
  throw new UsageError(`${count} missing or wrong:\n${wrong.map((line) => `  ${line}`).join('\n')}`, {
    hint: `Set them in ${brand === undefined ? '' : `the file ${brand}.env of BRANDS_DIR, `}the environment or .env of the working directory; ${packagePath('.env.example')} explains each one.`,
  });
}

/**
 * A sentence for each of our variables that is set where nothing reads it. Its default would apply unnoticed:
 *
 * - its name is misspelt, or is one word of several, as in `set NAME`, and the right name is not set;
 * - it is within the value of another variable with an unclosed quote. That value may be a secret, and is not shown.
 *
 * @param known the names that were read.
 */
function unreadVariables(environment: Environment, known: ReadonlySet<string>): string[] {
  const missing = [...known].filter((name) => environment[name] === undefined);
  // Shorter names resemble too many others, and many other programs read LOGLEVEL.
  const guessed = missing.filter((name) => name.length >= 8 && name !== 'LOG_LEVEL');
  return Object.entries(environment).flatMap(([name, value = '']) => {
    if (known.has(name)) {
      const assigned = [...value.matchAll(/[A-Z][A-Z0-9_]+(?=\s*=)/g)].map(([one]) => one);
      const why = `it is within the value of ${name}: a quote of that line is not closed, or the line has two variables`;
      return missing.filter((one) => assigned.includes(one)).map((one) => `${one} is not read: ${why}`);
    }
    const written = name.toUpperCase();
    const words = written.replaceAll('-', '_').split(/\W+/);
    const meant = guessed.find((one) => words.includes(one) || lettersApart(written, one) <= 2);
    return meant === undefined ? [] : [`${name} is not read: expected ${meant}`];
  });
}

/** How many letters only one of the names has: 0 if two are swapped, 1 if one is missing, 2 if one differs. */
function lettersApart(a: string, b: string): number {
  const onlyB = [...b];
  const onlyA = [...a].filter((letter) => {
    const at = onlyB.indexOf(letter);
    return at < 0 || onlyB.splice(at, 1).length === 0;
  });
  return onlyA.length + onlyB.length;
}
