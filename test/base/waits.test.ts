import { setTimeout as delay } from 'node:timers/promises';
import { expect, onTestFinished, test, vi } from 'vitest';
import { openWaitMeters, type WaitSeconds, waitingFor } from '../../src/base/waits.ts';

function useClock(): void {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
  onTestFinished(() => void vi.useRealTimers());
}

/** Waits in the time of the fake clock. */
const wait = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

test('a time in which several requests of a run wait for the same counts once, and each kind by itself', async () => {
  useClock();
  const meters = openWaitMeters();
  const saved: WaitSeconds[] = [];
  const work = meters.measure(
    'a',
    () =>
      Promise.all([
        waitingFor('outage', () => wait(1000)),
        wait(500).then(() => waitingFor('outage', () => wait(1000))),
        waitingFor('lease', () => wait(250)),
      ]),
    async (waits) => void saved.push(waits),
  );
  await vi.advanceTimersByTimeAsync(5000);
  await work;
  expect(saved).toEqual([{ outage: 1.5, lease: 0.25 }]);
});

test('what another part of the run still waits is saved with the part that ends, and not twice', async () => {
  useClock();
  const meters = openWaitMeters();
  const saved: WaitSeconds[] = [];
  const save = async (waits: WaitSeconds) => void saved.push(waits);
  const parts = [
    meters.measure('a', () => waitingFor('retry_after', () => wait(3000)), save),
    meters.measure('a', () => waitingFor('retry_after', () => wait(1000)), save),
    meters.measure('b', () => wait(2000), save),
  ];
  await vi.advanceTimersByTimeAsync(5000);
  await Promise.all(parts);
  expect(saved).toEqual([{ retry_after: 1 }, { retry_after: 2 }]);
});

test('a failure to save fails no work, and a failure of the work is the one that is thrown', async () => {
  const meters = openWaitMeters();
  const save = () => Promise.reject(new Error('the warehouse is gone'));
  const waiting = () => waitingFor('lease', () => delay(2));
  expect(await meters.measure('a', () => waiting().then(() => 'result'), save)).toBe('result');
  const failing = meters.measure('a', () => waiting().then(() => Promise.reject(new Error('the work'))), save);
  await expect(failing).rejects.toThrow('the work');
});
