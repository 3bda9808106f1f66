import { spawnSync } from 'node:child_process';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { readConfig } from '../../src/app/config.ts';
import { packagePath } from '../../src/base/package-path.ts';
import { createDatabase, query } from '../harness/database.ts';

const kubernetes = packagePath('examples', 'kubernetes');
const texts = await Promise.all(
  (await readdir(kubernetes))
    .filter((file) => file.endsWith('.yaml'))
    .map((file) => readFile(join(kubernetes, file), 'utf8')),
);
const documents = texts.flatMap((text) => parseAllDocuments(text));
const composeText = await readFile(packagePath('docker-compose.yml'), 'utf8');
const compose = parse(composeText, { merge: true });
const manifests: Manifest[] = documents.map((document) => document.toJS());
const grafana = packagePath('examples', 'bi', 'grafana', 'dashboards', 'reviews.json');

test('the Kubernetes example has this version, known variables and answered probes', async () => {
  const all = texts.join('\n---\n');
  const { version } = JSON.parse(await readFile(packagePath('package.json'), 'utf8'));
  const images = [...all.matchAll(/image: (\S+)/g)].map(([, image]) => image);
  expect(new Set(images)).toEqual(new Set([`review-sync:${version}`]));
  const [configuration = ''] = texts.filter((text) => text.includes('kind: Secret'));
  const environment = Object.fromEntries(
    [...configuration.matchAll(/^ {2}([A-Z_]+): "?(.*?)"?$/gm)].map(([, name = '', value]) => [name, value]),
  );
  expect(() => readConfig(environment)).toThrow(/STATUS_TOKEN.*\n.*WEBHOOK_SECRET/);
  const filled = { STATUS_TOKEN: '5f1d7c0a9be24e6688', WEBHOOK_SECRET: 'a04cf6b1d23e4f5790' };
  const config = readConfig({ ...environment, ...filled });
  expect(config).toMatchObject({ metricsPort: 9464, host: '0.0.0.0', api: { requestsPerSecond: 50 } });
  const names = (await readFile(packagePath('src', 'app', 'config.ts'), 'utf8')).matchAll(
    /(?:required|optional|schedule)\(\s*'([A-Z_]+)'/g,
  );
  const known = new Set([...names].map(([, name]) => name));
  expect(Object.keys(environment).filter((name) => !known.has(name))).toEqual([]);
  for (const text of texts.filter((one) => one.includes('containers:')))
    for (const line of ['automountServiceAccountToken: false', 'seccompProfile: { type: RuntimeDefault }'])
      expect(text).toContain(line);
  expect(all).toContain('kind: NetworkPolicy');
  const probes = [...all.matchAll(/(\w+)Probe: \{ httpGet: \{ path: (\S+),/g)].map(([, ...probe]) => probe.join(' '));
  // A pod whose warehouse does not respond gets no requests, and is not restarted.
  const once = ['liveness /healthz', 'readiness /readyz'];
  expect(probes).toEqual([...once, ...once]);
});

test('the systemd unit starts the program itself, and waits for it to finish its jobs', async () => {
  const unit = await readFile(packagePath('examples', 'systemd', 'review-sync@.service'), 'utf8');
  const { bin } = JSON.parse(await readFile(packagePath('package.json'), 'utf8'));
  const started = [...unit.matchAll(/^ExecStart(?:Pre)?=(.*)$/gm)].map(([, line]) => line);
  const program = `/opt/review-sync/node_modules/.bin/${Object.keys(bin)[0]}`;
  expect(started).toEqual([`${program} migrate`, `${program} %i`]);
  expect(Number(/^TimeoutStopSec=(\d+)$/m.exec(unit)?.[1])).toBeGreaterThan(10);
});

/** What a manifest or a compose file may name of another one, found at any depth. */
function* valuesOf(key: string, at: unknown): Generator<unknown> {
  for (const [name, value] of typeof at === 'object' && at !== null ? Object.entries(at) : []) {
    if (name === key) yield value;
    yield* valuesOf(key, value);
  }
}

type Manifest = { apiVersion: string; kind: string; metadata: { name: string }; spec?: Record<string, unknown> };

test('whatever a Kubernetes manifest names, another manifest defines', async () => {
  expect(documents.flatMap(({ errors }) => errors)).toEqual([]);
  const defined = manifests.map(({ kind, metadata }) => `${kind} ${metadata.name}`);
  const references = manifests.flatMap((manifest) => [
    ...[...valuesOf('configMapRef', manifest), ...valuesOf('configMap', manifest)].map((it) => ['ConfigMap', it]),
    ...[...valuesOf('secretRef', manifest)].map((it) => ['Secret', it]),
    ...[...valuesOf('scaleTargetRef', manifest)].map((it) => ['Deployment', it]),
  ]);
  const names = references.map(([kind, it]) => `${kind} ${(it as { name: string }).name}`);
  expect([...new Set(names)].sort()).toEqual([
    'ConfigMap review-sync',
    'ConfigMap review-sync-queries',
    'Deployment review-sync-worker',
    'Secret review-sync',
  ]);
  // The queries are made from the user's folder: a manifest without them would empty them when it is applied again.
  const undefinedNames = names.filter((name) => !defined.includes(name));
  expect(new Set(undefinedNames)).toEqual(new Set(['ConfigMap review-sync-queries']));

  const deployments = manifests.filter(({ kind }) => kind === 'Deployment');
  const podLabels = deployments.map(({ spec }) => [...valuesOf('labels', spec)][0]);
  // The Redis is the operator's own.
  for (const selector of manifests.flatMap(({ kind, spec }) => selectorsOf(kind, spec)))
    expect([...podLabels, { app: 'redis' }]).toContainEqual(expect.objectContaining(selector));
  // The network policy selects every pod, that of migrate too.
  const [policy] = manifests.filter(({ kind }) => kind === 'NetworkPolicy');
  const pods = manifests.filter(({ kind }) => ['Deployment', 'Job'].includes(kind));
  expect(pods.map(({ spec }) => [...valuesOf('labels', spec)][0])).toMatchObject(
    pods.map(() => selectorsOf('NetworkPolicy', policy?.spec)[0]),
  );
  const ports = [...valuesOf('containerPort', deployments)].length;
  const portNames = [...valuesOf('ports', deployments)].flat().map((port) => (port as { name: string }).name);
  expect(portNames).toHaveLength(ports);
  const used = [...valuesOf('httpGet', deployments)].map((probe) => (probe as { port: string }).port);
  const forwarded = [...valuesOf('targetPort', manifests)];
  expect([...used, ...forwarded].filter((port) => !portNames.includes(String(port)))).toEqual([]);
});

/** The pods that a manifest is about. */
function selectorsOf(kind: string, spec: Record<string, unknown> = {}): object[] {
  if (kind === 'Service') return [spec.selector as object];
  const { matchLabels } = (spec.selector ?? spec.podSelector ?? {}) as { matchLabels?: object };
  return matchLabels ? [matchLabels] : [];
}

test('whatever a service of docker-compose.yml names, the file defines', async () => {
  const services = Object.entries<Record<string, unknown>>(compose.services);
  for (const [name, { depends_on: needed = {}, networks = [], volumes = [], profiles }] of services) {
    for (const other of Object.keys(needed as object)) {
      expect(compose.services, name).toHaveProperty(other);
      // A service with a profile is not started for one without.
      const { required } = (needed as Record<string, { required?: boolean }>)[other] ?? {};
      const theirs = compose.services[other].profiles;
      expect(theirs === undefined || required === false || String(theirs) === String(profiles), name).toBe(true);
    }
    for (const network of networks as string[]) expect(Object.keys(compose.networks), name).toContain(network);
    for (const volume of (volumes as unknown[]).filter((one) => typeof one === 'string' && !one.startsWith('.'))) {
      expect(Object.keys(compose.volumes), name).toContain(String(volume).split(':')[0]);
    }
  }
});

test('the container that Grafana waits for ends if one of its passwords is missing', async () => {
  const { services } = compose;
  expect(services.bi.depends_on).toEqual({ 'bi-user': { condition: 'service_completed_successfully' } });
  const script = services['bi-user'].entrypoint[2].replaceAll('$$', '$');
  const statusWith = (passwords: Record<string, string>) =>
    spawnSync('/bin/sh', ['-c', script], { env: { PATH: '', ...passwords } }).status;
  const [bi, grafana] = [{ BI_PASSWORD: 'b' }, { GRAFANA_PASSWORD: 'g' }];
  expect([bi, grafana].map(statusWith)).toEqual([2, 2]);
  // 127: goes on to psql, which is not on this path.
  expect(statusWith({ ...bi, ...grafana })).toBe(127);
});

test('the dashboard of the BI profile asks only what bi_reader may read', async () => {
  const url = await createDatabase('migrated');
  const { panels } = JSON.parse(await readFile(grafana, 'utf8'));
  expect(panels.length).toBeGreaterThan(5);
  for (const { title, targets } of panels) {
    const [{ rawSql }] = targets;
    const sql = rawSql.replace(/\$__timeFrom\(\)/g, `'2024-01-01'`).replace(/\$__timeTo\(\)/g, 'now()');
    await expect(query(url, `set role bi_reader; ${sql}`), title).resolves.not.toThrow();
  }
});

test('the OpenTelemetry example exports no query, in which the access token travels', async () => {
  const text = await readFile(packagePath('examples', 'opentelemetry', 'otel.mjs'), 'utf8');
  const source = /export (function withoutQuery[\s\S]*?\n})/.exec(text)?.[1];
  const withoutQuery = new Function(`return ${source}`)() as (request: object) => Record<string, string>;
  const attributes = withoutQuery({ origin: 'https://x.example', path: '/v1/reviews?access_token=secret&page=1' });
  const full = 'https://x.example/v1/reviews';
  expect(attributes).toEqual({ 'url.full': full, 'url.path': '/v1/reviews', 'url.query': '' });
  expect(text).toMatch(/startSpanHook: withoutQuery/);
});

test('compose has no password, and Grafana shares a network with the warehouse alone', async () => {
  expect(composeText.match(/PASSWORD:-[^}]+/g)).toBeNull();
  const { services } = compose;
  const networks = [services.postgres, services.redis, services.bi].map((one) => one.networks);
  expect(networks).toEqual([['data', 'bi'], ['queue'], ['bi']]);
  // .env holds all secrets: each container is given its own ones only.
  const passwords = ['BI_PASSWORD', 'GRAFANA_PASSWORD', 'POSTGRES_PASSWORD', 'REDIS_PASSWORD'];
  const secrets = ['STATUS_TOKEN', 'WEBHOOK_SECRET', ...passwords];
  const given = (name: string) => secrets.filter((secret) => services[name].environment[secret] !== '');
  const status = ['STATUS_TOKEN'];
  expect(['migrate', 'worker', 'serve'].map(given)).toEqual([[], status, [...status, 'WEBHOOK_SECRET']]);
  const owner = await readFile(packagePath('examples', 'compose', 'warehouse.sql'), 'utf8');
  expect(owner).toMatch(/^create role review_sync login createrole password/m);
});
