import { expect, test } from 'vitest';
import { lastPage } from '../../src/review-api/http/link-header.ts';
import { retryAfterMs } from '../../src/review-api/http/retry-policy.ts';

test('the last page is read from a header with raw commas and a target without its question mark', () => {
  const header =
    '<https://s.example/v1/orders?page=5&paid_on=2024-01-01&usernames=su1,su2>; rel="last", ' +
    '<https://s.example/v1/orders&page=2&paid_on=2024-01-01&usernames=su1,su2>; rel="next"';
  expect(lastPage(header)).toBe(5);
});

test('the last page is found whatever the order, the quotes and the case', () => {
  expect(
    lastPage('<https://s.example/v1/orders?page=2>; rel="next", <https://s.example/v1/orders&page=9>; rel=last'),
  ).toBe(9);
  expect(lastPage('<https://s.example/x?per_page=7&page=31>; title="a, b"; REL="next last"')).toBe(31);
});

test('a header without the number of the last page tells none', () => {
  expect(lastPage(undefined)).toBeUndefined();
  expect(lastPage('')).toBeUndefined();
  expect(
    lastPage('<https://s.example/v1/orders>; rel="last", <https://s.example/v1/orders?page=2>; rel="next"'),
  ).toBeUndefined();
  expect(lastPage('<https://s.example/v1/orders?page=1>; rel="next"')).toBeUndefined();
  expect(lastPage('<https://s.example/v1/orders?page=0>; rel="last"')).toBeUndefined();
  expect(lastPage('<https://s.example/v1/orders?per_page=3>; rel="last"')).toBeUndefined();
  expect(lastPage('nonsense <<>>, "last"')).toBeUndefined();
});

test('Retry-After is read as seconds or as a date, and never below zero', () => {
  const now = Date.parse('2024-05-01T00:00:00Z');
  expect(retryAfterMs('120', now)).toBe(120_000);
  expect(retryAfterMs('Wed, 01 May 2024 00:00:30 GMT', now)).toBe(30_000);
  expect(retryAfterMs('Tue, 30 Apr 2024 00:00:00 GMT', now)).toBe(0);
  for (const header of [undefined, '', '-5', 'soon', '1e9']) expect(retryAfterMs(header, now)).toBeUndefined();
});
