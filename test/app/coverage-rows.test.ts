import { expect, test } from 'vitest';
import { brief } from '../../src/app/status-view.ts';

const monthsOf = (from: number, to: number, reviewsOf: (month: string) => number, readDays = 30) =>
  Array.from({ length: (to - from + 1) * 12 }, (_, index) => {
    const [year, month] = [from + Math.floor(index / 12), (index % 12) + 1];
    const name = `${String(year).padStart(4, '0')}-${String(month).padStart(2, '0')}`;
    return { month: name, days: 30, readDays, reviews: reviewsOf(name), firstHole: null };
  });

test('years without any review are one row of the coverage, read or not', () => {
  const reviewsOf = (month: string) => (month === '0001-01' || month >= '2025' ? 1 : 0);
  for (const readDays of [0, 30]) {
    const rows = brief(monthsOf(1, 2026, reviewsOf, readDays)).map(({ month, reviews }) => [month, reviews]);
    expect(rows[1]).toEqual(['0001-02 to 2024-12', 0]);
    expect(rows).toHaveLength(readDays === 0 ? 26 : 15);
  }
});

test('earlier complete months are a row a year, the last twelve months and those with holes a row each', () => {
  const all = monthsOf(2023, 2026, () => 2);
  const holed = all.map((one) => (one.month === '2024-05' ? { ...one, readDays: 29 } : one));
  const names = brief(holed).map(({ month }) => month);
  expect(names.slice(0, 5)).toEqual(['2023', '2024', '2024-05', '2024', '2025']);
  expect(names).toHaveLength(17);
});
