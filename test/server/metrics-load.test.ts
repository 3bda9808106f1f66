import { afterEach, beforeEach, expect, test } from 'vitest';
import { readConfig } from '../../src/app/config.ts';
import { openLog } from '../../src/base/log.ts';
import { startServing } from '../../src/cli/ui/serving.ts';
import { openMeasuredApp } from '../../src/server/measured-app.ts';
import { openWorld, until, type World } from '../harness/world.ts';

const secret = 'a-secret-that-is-long-enough';

let world: World;
let opened: AsyncDisposableStack;
beforeEach(async () => {
  opened = new AsyncDisposableStack();
  world = opened.use(await openWorld({ shop: 'empty' }));
});
afterEach(() => opened.disposeAsync());

/** What the command `serve` opens, in this process: its pools can be watched. */
async function serving() {
  const config = readConfig({ ...world.environment, PORT: '0', WEBHOOK_SECRET: secret });
  const measured = await openMeasuredApp(config, openLog('silent'), opened);
  const url = await startServing(measured, opened);
  return { url, pool: measured.reports.warehouse.pool };
}

test('thirty scrapes at the same time cost the warehouse one report at most', async () => {
  const { url, pool } = await serving();
  let statements = 0;
  pool.on('acquire', () => {
    statements += 1;
  });
  expect((await fetch(`${url}/metrics`)).status).toBe(200);
  const once = statements;
  expect(once).toBeGreaterThan(10);
  const scrapes = await Promise.all(Array.from({ length: 30 }, () => fetch(`${url}/metrics`)));
  expect(new Set(scrapes.map(({ status }) => status))).toEqual(new Set([200]));
  // Five seconds after the first report it is outdated. On a machine so slow a second and a third one are made.
  expect(statements).toBeLessThanOrEqual(3 * once);
});

test('a webhook is stored while readers of the status hold every connection that they may have', async () => {
  const { url, pool } = await serving();
  const held = await Promise.all(Array.from({ length: pool.options.max }, () => pool.connect()));
  try {
    const scrape = fetch(`${url}/metrics`);
    // The scrape waits for a connection of this pool, so it is the one that reports are read on.
    await until(async () => pool.waitingCount > 0);
    const body = JSON.stringify([{ brand_id: 7, products: [{ id: 1 }] }]);
    const headers = { 'content-type': 'application/json' };
    const signal = AbortSignal.timeout(10_000);
    const kept = await fetch(`${url}/webhooks/${secret}`, { method: 'POST', headers, body, signal });
    expect(kept.status).toBe(200);
    expect(await world.warehouse('select jsonb_object_keys(webhook_brands) as id from sync.settings')).toEqual([
      { id: '7' },
    ]);
    expect(pool.waitingCount).toBeGreaterThan(0);
    for (const client of held.splice(0)) client.release();
    expect((await scrape).status).toBe(200);
  } finally {
    for (const client of held) client.release();
  }
});
