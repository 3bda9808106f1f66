import { expect, test } from 'vitest';
import { openAlarm } from '../../src/base/alarm.ts';

const hourMs = 3_600_000;

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
