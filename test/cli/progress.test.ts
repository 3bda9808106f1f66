import { expect, onTestFinished, test, vi } from 'vitest';
import { openProgress } from '../../src/cli/ui/progress.ts';
import { follow } from '../../src/cli/ui/run-to-end.ts';
import type { JobProgress } from '../../src/queue/index.ts';

function openLines() {
  const lines: string[] = [];
  const clock = { ms: 0 };
  const terminal = { isTerminal: false, say: (line: string) => lines.push(line) };
  return { lines, clock, progress: openProgress(terminal, 'sync orders', 'orders', () => clock.ms) };
}

test('a wait is said once until there is progress', () => {
  const { lines, clock, progress } = openLines();
  for (let attempt = 1; attempt <= 5; attempt += 1) {
    clock.ms += 10_000;
    progress.wait('POST /v1/orders: status 503', clock.ms + 9000);
  }
  expect(lines).toEqual(['waiting until 00:00:19 UTC: POST /v1/orders: status 503']);
  progress.update(1, 3);
  clock.ms += 10_000;
  progress.wait('POST /v1/orders: status 503', clock.ms + 9000);
  expect(lines).toHaveLength(3);
});

test('many requests that wait at the same time are one line, but a much longer wait is said', () => {
  const { lines, progress } = openLines();
  for (let order = 1; order <= 100; order += 1) progress.wait(`order ${order}: status 503`, 1000 + order);
  progress.wait('the review service asked for fewer requests', 300_000);
  expect(lines).toEqual([
    'waiting until 00:00:01 UTC: order 1: status 503',
    'waiting until 00:05:00 UTC: the review service asked for fewer requests',
  ]);
});

test('a wait without a known end is said', () => {
  const { lines, progress } = openLines();
  progress.wait('the queue does not respond', undefined);
  expect(lines).toEqual(['waiting: the queue does not respond']);
});

test('a rate is a whole number, a minute where less than one a second is done', () => {
  const { lines, clock, progress } = openLines();
  clock.ms = 10_000;
  progress.update(1834, 4000);
  clock.ms = 20_000;
  progress.update(1836, 4000);
  const slow = openLines();
  slow.clock.ms = 60_000;
  slow.progress.update(22, 40);
  expect([...lines, ...slow.lines]).toEqual([
    'sync orders: 1834/4000 orders · 10 s, 183/s',
    'sync orders: 1836/4000 orders · 20 s, 92/s',
    'sync orders: 22/40 orders · 60 s, 22/min',
  ]);
});

test('a queue that does not respond for a moment is waited for, however long the run has taken until then', async () => {
  vi.useFakeTimers({ toFake: ['performance'] });
  onTestFinished(() => void vi.useRealTimers());
  const running: JobProgress = { state: 'running', planned: 2, ended: 1 };
  const report = { outcome: 'done' as const, counts: {} };
  const looks = [
    () => running,
    () => {
      throw new Error('gone');
    },
    () => ({ ...running, report }),
  ];
  const progress = async () => {
    vi.advanceTimersByTime(100_000);
    return (looks.shift() as () => JobProgress)();
  };
  const waits: string[] = [];
  const shown = { update() {}, stop() {}, wait: (reason: string) => void waits.push(reason) };
  const following = { progress: shown, signal: new AbortController().signal };
  expect(await follow({ queues: { progress } as never }, 'r', following)).toBe(report);
  expect(waits).toHaveLength(1);
});
