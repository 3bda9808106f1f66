import { expect, test } from 'vitest';
import { errorText } from '../../src/review-api/http/outcome.ts';
import { retryAfterMs } from '../../src/review-api/http/retry-policy.ts';
import { lastPage } from '../../src/review-api/resources/resource.ts';

const orders = 'https://s.example/v1/orders';

test.each([
  // Raw commas, and a target without its question mark.
  [5, `<${orders}?page=5&usernames=su1,su2>; rel="last", <${orders}&page=2&usernames=su1,su2>; rel="next"`],
  [9, `<${orders}?page=2>; rel="next", <${orders}&page=9>; rel=last`],
  [31, '<https://s.example/x?per_page=7&page=31>; title="a, b"; REL="next last"'],
  [undefined, undefined],
  [undefined, ''],
  [undefined, `<${orders}>; rel="last", <${orders}?page=2>; rel="next"`],
  [undefined, `<${orders}?page=1>; rel="next"`],
  [undefined, `<${orders}?page=0>; rel="last"`],
  [undefined, `<${orders}?per_page=3>; rel="last"`],
  [undefined, 'nonsense <<>>, "last"'],
])('the last page is %s in the header %s', (page, header) => {
  expect(lastPage(header)).toBe(page);
});

const [early, late] = ['Wed, 01 May 2024 00:00:10 GMT', 'Wednesday, 01-May-24 00:00:30 GMT'];

test.each([
  [120_000, ['120']],
  [493, ['0.493']],
  [0, ['Tue, 30 Apr 2024 00:00:00 GMT']],
  [30_000, ['Wed, 01 May 2024 00:00:30 GMT', late]],
  // A proxy has added its own: the longest counts.
  [30_000, ['1, 30', '30, 1', `1, ${late}`, `${late},1`, `${early}, 30`, `${early},${late}`, `${late}, ${early}`]],
  [undefined, [undefined, '', '-5', 'soon', '1e9']],
])('Retry-After asks to wait %s ms: %j', (ms, headers) => {
  for (const header of headers)
    expect([header, retryAfterMs(header, Date.parse('2024-05-01T00:00:00Z'))]).toEqual([header, ms]);
});

test.each([
  ['<html><head><style>p{}</style></head><body><h1>502</h1>Bad  gateway</body></html>', '502 Bad gateway'],
  ['', undefined],
  ['{"error":"the access token expired"}', 'error: the access token expired'],
  ['{"errors":{"user_email":["kim@shop.example is taken"]}}', 'user_email: [e-mail] is taken'],
  [JSON.stringify({ errors: { score: ['too high', 'odd'] }, line: 5 }), 'score: too high; score: odd; line: 5'],
  // No column of Postgres can hold NUL and half a surrogate pair.
  ['{"error":"bad\\u0000name \\ud83d"}', 'error: bad name \ufffd'],
  ['bad\u0000name', 'bad name'],
])('the text that is quoted of the body %j: %s', (body, text) => {
  expect(errorText(body)).toBe(text);
});

test('an error text has at most 300 characters, and no half of one', () => {
  expect(errorText('x '.repeat(400))).toHaveLength(300);
  expect(errorText('😀'.repeat(400))?.isWellFormed()).toBe(true);
});
