import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { readConfig } from '../../src/config.ts';
import { packagePath } from '../../src/package-root.ts';
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
  const config = readConfig(environment);
  expect(config).toMatchObject({ metricsPort: 9464, host: '0.0.0.0', api: { requestsPerSecond: 50 } });
  const names = (await readFile(packagePath('src', 'config.ts'), 'utf8')).matchAll(/read\.\w+\('([A-Z_]+)'/g);
  const known = new Set([...names].map(([, name]) => name));
  expect(Object.keys(environment).filter((name) => !known.has(name))).toEqual([]);
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
