import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { readConfig } from '../../src/app/config.ts';
import { packagePath } from '../../src/base/package-path.ts';
import { createDatabase, query } from '../harness/database.ts';

const kubernetes = packagePath('examples', 'kubernetes');
const grafana = packagePath('examples', 'bi', 'grafana', 'dashboards', 'reviews.json');

test('the Kubernetes example runs this version, with variables that it knows and probes that it answers', async () => {
  const files = (await readdir(kubernetes)).filter((file) => file.endsWith('.yaml'));
  const texts = await Promise.all(files.map((file) => readFile(join(kubernetes, file), 'utf8')));
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
  const names = (await readFile(packagePath('src', 'app', 'config.ts'), 'utf8')).matchAll(/read\.\w+\('([A-Z_]+)'/g);
  const known = new Set([...names].map(([, name]) => name));
  expect(Object.keys(environment).filter((name) => !known.has(name))).toEqual([]);
  for (const text of texts.filter((one) => one.includes('containers:'))) {
    for (const line of ['automountServiceAccountToken: false', 'seccompProfile: { type: RuntimeDefault }']) {
      expect(text).toContain(line);
    }
  }
  expect(all).toContain('kind: NetworkPolicy');
  const probed = [...all.matchAll(/httpGet: \{ path: (\S+),/g)].map(([, path]) => path);
  expect(new Set(probed)).toEqual(new Set(['/healthz', '/readyz']));
});

test('the dashboard of the BI profile asks only what bi_reader may read, and Postgres understands it', async () => {
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
  expect(attributes).toEqual({
    'url.full': 'https://x.example/v1/reviews',
    'url.path': '/v1/reviews',
    'url.query': '',
  });
  expect(text).toMatch(/startSpanHook: withoutQuery/);
});

test('compose has no password of its own, and Grafana shares a network with the warehouse alone', async () => {
  const compose = await readFile(packagePath('docker-compose.yml'), 'utf8');
  expect(compose.match(/PASSWORD:-[^}]+/g)).toBeNull();
  const networks = [...compose.matchAll(/^ {2}([a-z-]+):\n(?: {4}.*\n|\n)*? {4}networks: \[(.*)\]$/gm)];
  expect(Object.fromEntries(networks.map(([, name, value]) => [name, value]))).toMatchObject({
    postgres: 'data, bi',
    redis: 'queue',
    bi: 'bi',
  });
});
