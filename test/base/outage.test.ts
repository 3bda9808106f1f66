import { afterEach, expect, test, vi } from 'vitest';
import { openLog } from '../../src/base/log.ts';
import { openOutage } from '../../src/base/outage.ts';

afterEach(() => void vi.useRealTimers());

test('an outage is logged as it begins, once a minute and as it ends, however many loops meet it', () => {
  vi.useFakeTimers({ toFake: ['performance'] });
  const lines: Record<string, unknown>[] = [];
  const outage = openOutage(
    openLog('info', (line) => void lines.push(JSON.parse(line))),
    'warehouse',
  );
  outage.worked();
  for (let second = 0; second < 130; second += 1) {
    for (const port of [1, 2]) outage.failed(new Error(`connect ECONNREFUSED 127.0.0.1:${port}`));
    vi.advanceTimersByTime(1000);
  }
  outage.worked();
  outage.worked();
  outage.failed(new Error('again'));
  expect(lines.map(({ level, system, seconds, msg }) => [level, system, seconds, msg])).toEqual([
    [40, 'warehouse', undefined, 'the warehouse cannot be used; trying again'],
    [40, 'warehouse', 60, 'the warehouse cannot be used; trying again'],
    [40, 'warehouse', 120, 'the warehouse cannot be used; trying again'],
    [30, 'warehouse', 130, 'the warehouse can be used again'],
    [40, 'warehouse', undefined, 'the warehouse cannot be used; trying again'],
  ]);
});
