import { expect, test } from 'vitest';
import { syncOrders } from '../../jobs/sync-orders.ts';
import { openAlarm } from '../../src/base/alarm.ts';
import { follow, runToEnd } from '../../src/cli/ui/run-to-end.ts';
import type { JobProgress } from '../../src/queue/index.ts';
import { openOrderWorld } from '../harness/order-world.ts';

const hourMs = 3_600_000;
const progress = { update: () => {}, wait: () => {}, stop: () => {} };
const report = { outcome: 'done', counts: {} } as const;

/** A queue whose run is running when it is first asked, and has ended afterwards. */
function queueOf(onFirst: () => void) {
  let asked = 0;
  return {
    async progress(): Promise<JobProgress> {
      asked += 1;
      if (asked > 1) return { state: 'ended', planned: 0, ended: 0, report };
      onFirst();
      return { state: 'running', planned: 0, ended: 0 };
    },
  };
}

test('a command looks at its run at once when the run has ended in its own process', async () => {
  for (const when of ['while it asks', 'while it waits']) {
    const alarm = openAlarm();
    const queues = queueOf(() => (when === 'while it asks' ? alarm.ring() : setImmediate(alarm.ring)));
    const following = { progress, signal: new AbortController().signal, alarm, everyMs: hourMs };
    expect([when, await follow({ queues } as never, 'run', following)]).toEqual([when, report]);
  }
});

test('a command that looks at its run once an hour ends when the run ends', async () => {
  await using world = await openOrderWorld();
  const app = await world.openApp();
  const following = { progress, signal: new AbortController().signal, everyMs: hourMs };
  const run = { job: syncOrders, payload: { allowRemovals: false } };
  expect(await runToEnd(app, run, following)).toMatchObject({ outcome: 'done' });
});

test('an alarm that has rung ends one wait, not the waits after it', async () => {
  const alarm = openAlarm();
  alarm.ring();
  await alarm.wait(hourMs);
  let isOver = false;
  const second = alarm.wait(hourMs).then(() => {
    isOver = true;
  });
  await new Promise(setImmediate);
  expect(isOver).toBe(false);
  alarm.ring();
  await second;
});
