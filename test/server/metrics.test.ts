import { expect, test } from 'vitest';
import { addressOf, startHere, until } from '../harness/cli.ts';
import { noSchedules, openWorld } from '../harness/world.ts';

test('a worker’s /metrics tell its requests, what it brought and what failed', async () => {
  await using world = await openWorld({ shop: 'sample' });
  const others = { ...noSchedules, SCHEDULE_ORDERS: '*/5 * * * * *', SCHEDULE_REVIEWS: '*/5 * * * * *' };
  // Until a step has failed, no window can be recorded.
  await world.warehouse('alter table sync.export_windows add constraint bad check (false)');
  const worker = startHere(['worker'], { ...world.environment, ...others, METRICS_PORT: '0', LOG_LEVEL: 'info' });
  const url = await addressOf(worker);
  const untilShown = async (...samples: string[]) => {
    const isShown = (text: string) => samples.every((one) => text.includes(`\nreview_sync_${one} `));
    const read = async () => (await fetch(`${url}/metrics`)).text();
    return until(async () => [await read()].find(isShown));
  };
  await untilShown('step_duration_seconds_count{step="read-window",outcome="failed"}');
  await world.warehouse('alter table sync.export_windows drop constraint bad');
  const text = await untilShown(
    'records_total{step="read-window",kind="reviews"}',
    'records_total{step="push-orders",kind="orders_pushed"}',
    'requests_total{method="GET",route="/v1/reviews",status="200"}',
    'requests_total{method="POST",route="/v1/orders",status="201"}',
    'queue_steps',
  );
  expect(text).not.toMatch(/@|kim|010-/i);
  expect((await fetch(`${url}/readyz`)).status).toBe(200);
  expect((await fetch(`${url}/`)).status).toBe(404);

  // Everything that a run did carries its id in the log.
  await worker.says('sync-reviews: done');
  const logged = worker.saidSoFar().match(/^\{.*$/gm) ?? [];
  const lines = logged.map((line) => JSON.parse(line) as { msg: string; run: string });
  const ended = lines.find(({ msg }) => msg === 'sync-reviews: done');
  expect(lines).toContainEqual(expect.objectContaining({ msg: 'run started', run: ended?.run }));
});
