import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { readConfig } from '../../src/app/config.ts';
import { packagePath } from '../../src/base/package-path.ts';
import { createDatabase, query } from '../harness/database.ts';

const kubernetes = packagePath('examples', 'kubernetes');
const texts = await Promise.all(
  (await readdir(kubernetes))
    .filter((file) => file.endsWith('.yaml'))
    .map((file) => readFile(join(kubernetes, file), 'utf8')),
);
const composeText = await readFile(packagePath('docker-compose.yml'), 'utf8');
const compose = parse(composeText, { merge: true });
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
