import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { syncReviews } from '../../jobs/sync-reviews.ts';
import { openMetrics } from '../../src/app/metrics.ts';
import { statusReport } from '../../src/app/status-report.ts';
import { packagePath } from '../../src/base/package-path.ts';
import { startRun } from '../../src/runs/start-run.ts';
import { openWorld } from '../harness/world.ts';

const folder = join(import.meta.dirname, '../../examples/monitoring');

test('dashboard, alert rules and table name metrics that there are, and all', async () => {
  await using world = await openWorld({ shop: 'empty' });
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

  // The alert counts what the service failed on or never answered; the KEDA example counts steps that wait.
  for (const status of [200, 404, 429, 500, 503, undefined])
    metrics.onRequestEnd({ method: 'GET', path: '/v1/reviews', status, durationMs: 1 });
  const { id } = await startRun(app, { job: syncReviews });
  await (await app.queues.ofRun(id)).add('read-window', {});
  const counted = await metrics.render();
  const rules = await readFile(join(folder, 'alert-rules.yml'), 'utf8');
  const [, failing] = /_requests_total\{status=~"(.*?)"\}/.exec(rules) ?? [];
  const statuses = [...counted.matchAll(/_requests_total\{.*status="(\w+)"/g)].map(([, one = '']) => one);
  const failed = new RegExp(`^(?:${failing})$`);
  expect(statuses.filter((status) => failed.test(status))).toEqual(['500', '503', 'none']);
  const keda = await readFile(packagePath('examples', 'kubernetes', 'worker-by-queue.yaml'), 'utf8');
  const [, waiting] = /queue_jobs\{queue="steps",state="(.*?)"\}/.exec(keda) ?? [];
  const steps = [...counted.matchAll(/queue_jobs\{queue="steps",state="(.*?)"\} (\d+)/g)];
  expect(Math.max(...steps.flatMap(([, state, jobs]) => (state === waiting ? [Number(jobs)] : [])))).toBe(1);
});

test('the dashboard is JSON with a panel a place, each with its queries', async () => {
  const dashboard = JSON.parse(await readFile(join(folder, 'grafana-dashboard.json'), 'utf8'));
  const places = dashboard.panels.map(
    ({ gridPos }: { gridPos: { x: number; y: number } }) => `${gridPos.x},${gridPos.y}`,
  );
  expect(new Set(places).size).toBe(dashboard.panels.length);
  for (const panel of dashboard.panels) expect(panel.targets.length).toBeGreaterThan(0);
});
