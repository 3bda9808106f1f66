import { expect, test } from 'vitest';
import { UsageError } from '../../src/base/errors.ts';
import { spanOfDays } from '../../src/base/time/day-range.ts';
import { durationText } from '../../src/base/time/duration.ts';

test('a duration is shown in its two largest units', () => {
  expect([-5, 0.4, 59.6, 725, 3600, 3661, 86_399, 86_461, 273_600].map(durationText)).toEqual(
    ['0 s', '0 s', '1 min', '12 min 5 s', '1 h', '1 h 1 min', '23 h 59 min', '1 d 1 min', '3 d 4 h'], //
  );
});

test('a range of days begins and ends at midnight of its zone; what is not a range is refused', () => {
  const second = (text: string) => Date.parse(text) / 1000;
  // The clocks of New York go forward on that day.
  expect(spanOfDays({ from: '2026-03-08', to: '2026-03-08' }, 'America/New_York')).toEqual({
    start: second('2026-03-08T05:00:00Z'),
    end: second('2026-03-09T04:00:00Z'),
  });
  expect(spanOfDays({}, 'UTC')).toEqual({ start: undefined, end: undefined });
  for (const [range, message, hint] of [
    [{ from: '2026-2-30' }, '--from is "2026-2-30", expected a day such as 2026-01-31', undefined],
    [{ to: 'today' }, '--to is "today", expected a day such as 2026-01-31', undefined],
    [{ from: '2026-03-09', to: '2026-03-08' }, '--from 2026-03-09 is after --to 2026-03-08', 'Swap the two.'],
  ] as const)
    expect(() => spanOfDays(range, 'UTC')).toThrow(new UsageError(message, { hint }));
});
