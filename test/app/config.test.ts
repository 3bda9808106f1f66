import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseEnv } from 'node:util';
import { describe, expect, test } from 'vitest';
import { readBrands } from '../../src/app/brands.ts';
import { type Environment, readConfig, readDeployment } from '../../src/app/config.ts';
import { UsageError } from '../../src/base/errors.ts';
import { isLoopback } from '../../src/base/is-loopback.ts';
import { parseEnvFile } from '../../src/base/parse-env-file.ts';
import { loadCommand, summaries } from '../../src/cli/commands/index.ts';
import { graceMs } from '../../src/cli/run-command.ts';
import { runCli } from '../harness/cli.ts';
import { temporaryFolder } from '../harness/folder.ts';

/** What the command line says of this environment; empty if it is accepted. */
function refusalOf(environment: Record<string, string>): string {
  try {
    readConfig(environment);
    return '';
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

const right = {
  SHOP_DATABASE_URL: 'postgres://shop:geheim@127.0.0.1:5/shop',
  WAREHOUSE_DATABASE_URL: 'postgres://warehouse:geheim@127.0.0.1:5/warehouse',
  REVIEW_API_BASE_URL: 'https://reviews.example.com/base',
  REVIEW_API_CLIENT_ID: 'id',
  REVIEW_API_CLIENT_SECRET: 'geheim',
};

const mixed = 'aB3.~_-9'.repeat(26);
const example = readFileSync(join(import.meta.dirname, '../../.env.example'), 'utf8');

describe('readConfig', () => {
  test('a variable whose name is nearly one of ours stops the command', async () => {
    const typos = { ORDER_DELETE: 'send', ORDER_CONTCAT_MAX_AGE_DAYS: '0', Order_Rescan_Dayz: '3' };
    const end = await runCli(['status'], { ...right, ...typos });
    expect(end).toMatchObject({ status: 2, stdout: '' });
    expect(end.stderr).toMatch(
      /3 environment .*\n {2}ORDER_DELETE is not read: expected ORDER_DELETES\n.*CONTCAT_MAX_AGE_DAYS is not read: expected ORDER_CONTACT_MAX_AGE_DAYS\n.*Order_Rescan_Dayz .* ORDER_RESCAN_DAYS\n/,
    );
    // Others have variables of their own; and what is set in its right name is no typo.
    const others = { PATH: '/bin', HOSTS: 'x', PORTS: '1', ORDER_TABLE: 'o', REVIEW_API: 'x', ORDER_DELETE: 'x' };
    expect(readConfig({ ...right, ...others, ORDER_DELETES: 'send' })).toMatchObject({ orderDeletes: 'send' });
  });

  test('the file of a brand may set each variable that is not read for all brands', async () => {
    const namesReadBy = (read: (environment: Environment) => unknown) => {
      const names: string[] = [];
      const environment = new Proxy({}, { get: (_, name) => void names.push(String(name)) });
      expect(() => read(environment)).toThrow(UsageError);
      return [...new Set(names)];
    };
    const folder = await temporaryFolder();
    const lines = namesReadBy(readConfig).map((name) => `${name}=1\n`);
    await writeFile(join(folder, 'a.env'), lines.join(''), { mode: 0o600 });
    const [brand] = readBrands({ BRANDS_DIR: folder }) ?? [];
    expect(brand?.fault?.message).toContain(` has ${namesReadBy(readDeployment).sort().join(', ')}: expected in .env`);
  });

  // In silence, each would mean the default, which mails.
  test.each([
    'set ORDER_CONTACT_MAX_AGE_DAYS=0',
    '$env:ORDER_CONTACT_MAX_AGE_DAYS=0',
    'ORDER-CONTACT-MAX-AGE-DAYS=0',
    '  - ORDER_CONTACT_MAX_AGE_DAYS: 0',
    '"ORDER_CONTACT_MAX_AGE_DAYS": 0,',
    'setenv ORDER_CONTACT_MAX_AGE_DAYS 0',
    'export ORDER_CONTACT_MAX_AGE_DAYS 0',
    'ORDER_CONTACT_MAX_AGE_DAYS＝0',
    `STATUS_TOKEN="${mixed}\nORDER_CONTACT_MAX_AGE_DAYS=0\nSCHEDULE_ORDERS="*/5 * * * *"`,
    `STATUS_TOKEN='${mixed}\nORDER_CONTACT_MAX_AGE_DAYS = 0\n# the owner's`,
    `WEBHOOK_BRAND_IDS=\nSTATUS_TOKEN=${mixed} ORDER_CONTACT_MAX_AGE_DAYS=0`,
  ])('a line of .env that hides a variable stops the command: %s', (line) => {
    const refusal = refusalOf({ ...right, ...parseEnvFile(`ORDER_OVERLAP_MINUTES=5\n${line}\nORDER_DELETES=off\n`) });
    expect(refusal).toMatch(/ORDER.CONTACT.MAX.AGE.DAYS\S* is not read: (?:expected ORDER_CONTACT|it is within)/);
    expect(refusal).not.toContain(mixed);
  });

  test('a value of several lines stays as it is', () => {
    const key = '-----BEGIN PRIVATE KEY-----\nMIIEvQ\n-----END PRIVATE KEY-----';
    expect(parseEnvFile(`TLS_KEY="${key}"\nORDER_DELETES=off\n`)).toEqual({ TLS_KEY: key, ORDER_DELETES: 'off' });
  });

  test('.env.example is a right configuration with every variable and its default', () => {
    const read = new Set<string>();
    const recorded = new Proxy<Record<string, string>>(right, {
      get: (values, name) => read.add(String(name)) && values[String(name)],
    });
    const usual = readConfig(recorded);
    const lines = [...example.matchAll(/^(?:# )?([A-Z_]+)=(.*)$/gm)].map(([, name = '', value = '']) => ({
      name,
      value,
    }));
    expect(lines.map(({ name }) => name).sort()).toEqual([...read].sort());
    expect(() => readConfig(parseEnv(example))).not.toThrow();
    for (const { name, value } of lines.filter((line) => !(line.name in right))) {
      // A schedule without a value is off; the default of LOG_LEVEL is that of most commands.
      expect({ name, config: readConfig({ ...right, [name]: value }) }).toEqual({ name, config: usual });
    }
  });

  test.each([
    ['REVIEW_API_CONCURRENCY', 1, 256],
    ['ORDER_OVERLAP_MINUTES', 0, 525_600],
    ['ORDER_BATCH_SIZE', 1, 1_000_000],
    ['REVIEW_OVERLAP_MINUTES', 0, 525_600],
    ['REVIEW_YEARS_FROM', 1, 9999],
    ['RECONCILE_DAYS', 0, 36_500],
    ['RECONCILE_ALL_DAYS', 1, 36_500],
    ['ORDER_CONTACT_MAX_AGE_DAYS', 0, 36_500],
    ['ORDER_RESCAN_DAYS', 0, 36_500],
    ['ORDER_LEASE_SECONDS', 1, 3600],
    ['TAKE_OVER_SECONDS', 1, 3600],
    ['PORT', 0, 65_535],
    ['METRICS_PORT', 0, 65_535],
    ['ALERT_LAG_MINUTES', 1, 525_600],
    ['ALERT_DEAD_LETTERS', 1, 1_000_000_000],
    ['ALERT_WAITING_DAYS', 1, 36_500],
  ])('%s may be from %d to %d', (name, least, most) => {
    for (const value of [least, most]) expect(() => readConfig({ ...right, [name]: String(value) })).not.toThrow();
    for (const value of [least - 1, most + 1]) expect(refusalOf({ ...right, [name]: String(value) })).toContain(name);
  });

  test('a value that does not fit, or is missing, is refused by its name', () => {
    const shown = (name: string, value: string) => refusalOf({ ...right, [name]: value }).includes(name);
    const rates = ['0.009', '0.01', '10000', '10000.1'].map((rate) => shown('REVIEW_API_REQUESTS_PER_SECOND', rate));
    expect(rates).toEqual([true, false, false, true]);
    const tokens = [mixed.slice(0, 16), 'replace_me.replace_me', 'a'.repeat(20)].map((value) =>
      shown('STATUS_TOKEN', value),
    );
    expect(tokens).toEqual([false, true, true]);
    expect([16, 200].map((length) => shown('WEBHOOK_SECRET', mixed.slice(0, length)))).toEqual([false, false]);
    expect(readConfig({ ...right, WEBHOOK_BRAND_IDS: ' 1, ,22,' }).webhookBrandIds).toEqual([1, 22]);
    expect(shown('WEBHOOK_BRAND_IDS', '1;2')).toBe(true);
    expect(refusalOf({ ...right, SHOP_DATABASE_URL: ' ', REVIEW_API_CLIENT_ID: '' })).toMatch(
      /SHOP_DATABASE_URL is missing: expected an address such as postgres:.*\n {2}REVIEW_API_CLIENT_ID is missing: expected a text/,
    );
  });

  test.each([
    ['SHOP_DATABASE_URL', 'oracle://shop:geheim@host/db'],
    ['WAREHOUSE_DATABASE_URL', 'geheim'],
    ['QUEUE_URL', 'amqp://guest:geheim@host'],
    ['QUEUE_URL', 'redis://:geheim@host/abc'],
    ['REVIEW_API_BASE_URL', 'reviews.example.com?secret=geheim'],
    ['REVIEW_API_BASE_URL', 'https://user:geheim@reviews.example.com'],
    ['REVIEW_API_BASE_URL', 'https://reviews.example.com/?key=geheim'],
    ['ALERT_WEBHOOK_URL', 'https://geheim:geheim@hooks.example.com'],
    ['REVIEW_API_TIME_ZONE', '+09:00'],
    ['SHOP_TIME_ZONE', 'Seoul'],
    ['REVIEW_API_CONCURRENCY', '2.5'],
    ['REVIEW_API_REQUESTS_PER_SECOND', 'NaN'],
    ['ORDER_DELETES', 'yes'],
    ['SCHEDULE_ORDERS', 'every 5 minutes'],
    ['SCHEDULE_ORDERS', '0 0 31 4,6 *'],
    ['SCHEDULE_TIME_ZONE', 'KST+9'],
    ['LOG_LEVEL', 'loud'],
    ['STATUS_TOKEN', 'geheim-geheim-1'],
    ['WEBHOOK_SECRET', 'geheim-geheim-1'],
    ['WEBHOOK_SECRET', 'geheim/with/a/slash'],
    ['WEBHOOK_SECRET', mixed.slice(0, 201)],
  ])('%s=%s is refused by name, and no secret is shown', (name, value) => {
    const refusal = refusalOf({ ...right, [name]: value });
    expect(refusal).toContain(`${name} is malformed: expected`);
    expect(refusal).not.toContain('geheim');
  });

  test('an address of the service has one spelling, however it is written', () => {
    for (const written of ['https://reviews.example.com/base/', 'HTTPS://Reviews.EXAMPLE.com:443/base//'])
      expect(readConfig({ ...right, REVIEW_API_BASE_URL: written }).api.baseUrl).toBe(right.REVIEW_API_BASE_URL);
    const atRoot = readConfig({ ...right, REVIEW_API_BASE_URL: 'http://127.0.0.1:5/' });
    expect(atRoot.api.baseUrl).toBe('http://127.0.0.1:5');
  });

  test('only addresses of this machine count as reached by this machine alone', () => {
    const alone = ['localhost', '127.0.0.1', '127.8.9.10', '::1', '[::1]'];
    expect(alone.filter((host) => !isLoopback(host))).toEqual([]);
    const others = '0.0.0.0 :: 10.0.0.5 128.0.0.1 172.16.0.5 192.168.0.5 localhost.example.com 127.example.com';
    expect(others.split(' ').filter(isLoopback)).toEqual([]);
  });

  test('an empty schedule is off; any other empty variable is as if it were not there', async () => {
    const empty = { SCHEDULE_ORDERS: '', SCHEDULE_REVIEWS: ' ', ORDER_OVERLAP_MINUTES: '' };
    const read = { schedules: { orders: '', reviews: '' }, orderOverlapMinutes: 10 };
    expect(readConfig({ ...right, ...empty })).toMatchObject(read);
    // Read by itself, for commands that read no other variable.
    const { status, stderr } = await runCli(['sync', 'reviews'], { ...right, LOG_LEVEL: '' });
    const said = /^review-sync: The warehouse cannot be reached: .*\n→ .+ in WAREHOUSE_DATABASE_URL\n$/;
    expect([status, stderr]).toEqual([1, expect.stringMatching(said)]);
    // Schedules are in the service’s time zone if they have none of their own.
    const zones = { REVIEW_API_TIME_ZONE: 'Europe/Berlin', SCHEDULE_TIME_ZONE: '' };
    expect(readConfig({ ...right, ...zones })).toMatchObject({ scheduleTimeZone: 'Europe/Berlin' });
    expect(readConfig({ ...right, ...zones, SCHEDULE_TIME_ZONE: 'UTC' })).toMatchObject({ scheduleTimeZone: 'UTC' });
  });
});

describe('the command line', () => {
  test('Ctrl-C ends a command within two seconds, one with servers within twenty', async () => {
    const slow: string[] = [];
    for (const name of Object.keys(summaries)) {
      const grace = graceMs(await loadCommand(name));
      expect([2000, 20_000]).toContain(grace);
      if (grace > 2000) slow.push(name);
    }
    expect(slow.sort()).toEqual(['demo', 'reference-service', 'serve', 'worker']);
  });
});
