import { expect, test } from 'vitest';
import { addressOf, startHere, until } from '../harness/cli.ts';
import { noSchedules, openWorld } from '../harness/world.ts';

/** The samples of a metric, such as `{flow="reviews"}`, with their values. */
function samples(text: string, name: string): Record<string, number> {
  const lines = text.split('\n').filter((line) => line.startsWith(`${name}{`) || line.startsWith(`${name} `));
  return Object.fromEntries(
    lines.map((line) => {
      const at = line.lastIndexOf(' ');
      return [line.slice(name.length, at), Number(line.slice(at + 1))];
    }),
  );
}

test('a worker’s /metrics tell its requests, what it brought and what failed', async () => {
  await using world = await openWorld({ shop: 'sample' });
  const others = { ...noSchedules, SCHEDULE_ORDERS: '*/5 * * * * *', SCHEDULE_REVIEWS: '*/5 * * * * *' };
  // Until a step has failed, no window can be recorded.
  await world.warehouse('alter table sync.export_windows add constraint bad check (false)');
  const worker = startHere(['worker'], { ...world.environment, ...others, METRICS_PORT: '0', LOG_LEVEL: 'info' });
  const url = await addressOf(worker);
  const read = async () => (await fetch(`${url}/metrics`)).text();
  const failed = '{step="read-window",outcome="failed"}';
  await until(async () => samples(await read(), 'review_sync_step_duration_seconds_count')[failed]);
  await world.warehouse('alter table sync.export_windows drop constraint bad');
  const text = await until(async () => {
    const now = await read();
    const brought = samples(now, 'review_sync_records_total');
    return brought['{step="read-window",kind="reviews"}'] && brought['{step="push-orders",kind="orders_pushed"}']
      ? now
      : undefined;
  });
  const requests = samples(text, 'review_sync_requests_total');
  expect(requests['{method="GET",route="/v1/reviews",status="200"}']).toBeGreaterThan(0);
  expect(requests['{method="POST",route="/v1/orders",status="201"}']).toBeGreaterThan(0);
  expect(samples(text, 'review_sync_queue_steps')).not.toEqual({});
  expect(text).not.toMatch(/@|kim|010-/i);
  expect((await fetch(`${url}/readyz`)).status).toBe(200);
  expect((await fetch(`${url}/`)).status).toBe(404);

  // Everything that a run did carries its id in the log.
  await worker.says('sync-reviews: done');
  const lines = worker
    .saidSoFar()
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line));
  const ended = lines.find(({ msg }) => msg === 'sync-reviews: done');
  expect(lines.find(({ msg, run }) => msg === 'run started' && run === ended?.run)).toBeDefined();
});
