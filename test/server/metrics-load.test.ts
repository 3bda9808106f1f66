import type pg from 'pg';
import { expect, test } from 'vitest';
import { readConfig } from '../../src/app/config.ts';
import { openLog } from '../../src/base/log.ts';
import { startServing } from '../../src/cli/ui/serve-brands.ts';
import { openMeasuredApp } from '../../src/server/measured-app.ts';
import { until } from '../harness/cli.ts';
import { openWorld } from '../harness/world.ts';

const secret = 'a-secret-that-is-long-enough';

test('thirty scrapes cost one report, and no connection of a webhook', async () => {
  await using opened = new AsyncDisposableStack();
  const world = opened.use(await openWorld({ shop: 'empty' }));
  const config = readConfig({ ...world.environment, PORT: '0', WEBHOOK_SECRET: secret });
  const measured = await openMeasuredApp(config, openLog('silent'), opened);
  const url = await startServing(measured, opened);
  const pool = measured.reports.warehouse.pool as pg.Pool;
  const held = await Promise.all(Array.from({ length: pool.options.max }, () => pool.connect()));
  opened.defer(() => {
    for (const client of held) client.release();
  });
  let statements = 0;
  pool.on('acquire', () => {
    statements += 1;
  });
  const scrape = () => fetch(`${url}/metrics`);
  const first = scrape();
  // The scrape waits for a connection of this pool, so it is the one that reports are read on.
  await until(async () => pool.waitingCount > 0);
  const body = JSON.stringify([{ brand_id: 7, products: [{ id: 1 }] }]);
  const headers = { 'content-type': 'application/json' };
  const signal = AbortSignal.timeout(10_000);
  const kept = await fetch(`${url}/webhooks/${secret}`, { method: 'POST', headers, body, signal });
  expect(kept.status).toBe(200);
  const brands = 'select jsonb_object_keys(webhook_brands) as id from sync.settings';
  expect(await world.warehouse(brands)).toEqual([{ id: '7' }]);
  expect(pool.waitingCount).toBeGreaterThan(0);
  for (const client of held.splice(0)) client.release();
  expect((await first).status).toBe(200);

  const once = statements;
  expect(once).toBeGreaterThan(10);
  const scrapes = await Promise.all(Array.from({ length: 30 }, scrape));
  expect(new Set(scrapes.map(({ status }) => status))).toEqual(new Set([200]));
  // Five seconds after the first report it is outdated. On a machine so slow a second and a third one are made.
  expect(statements).toBeLessThanOrEqual(3 * once);
});
