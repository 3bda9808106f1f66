import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'vitest';
import { openMetrics } from '../../src/app/metrics.ts';
import { statusReport } from '../../src/app/status-report.ts';
import { worldTest as test } from '../harness/world.ts';

const folder = join(import.meta.dirname, '../../examples/monitoring');

test('dashboard, alert rules and table name metrics that there are, and all', async ({ world }) => {
  const app = await world.openApp();
  const metrics = openMetrics(() => statusReport(app));
  const rendered = await metrics.render();
  const there = [...rendered.matchAll(/^# TYPE (\w+)/gm)].map(([, name = '']) => name);
  const named = async (file: string) => {
    const text = await readFile(join(folder, file), 'utf8');
    return [...new Set([...text.matchAll(/review_sync_\w+/g)].map(([name]) => name.replace(/_bucket$/, '')))];
  };
  for (const file of ['alert-rules.yml', 'grafana-dashboard.json']) {
    const names = await named(file);
    expect(names.length).toBeGreaterThan(4);
    expect(names.filter((name) => !there.includes(name))).toEqual([]);
  }
  expect((await named('README.md')).sort()).toEqual(there.sort());
});
