import { expect, test } from 'vitest';
import { errorText } from '../../src/review-api/http/error-text.ts';

test('tokens, e-mail addresses and phone numbers are masked, codes and dates stay', () => {
  const words = errorText(
    JSON.stringify({
      errors: { user_email: ['kim@shop.example is taken'], user_phone: ['010-1234-5678 and +82 10 1234 5678'] },
      message: 'order 20240101-0000012 of 2024-01-01T09:00:00+09:00, access_token=abc123def, eyJhbGciOi hidden',
    }),
    ['hidden'],
  );
  expect(words).toBe(
    'user_email: [e-mail] is taken; user_phone: [phone] and [phone]; ' +
      'message: order 20240101-0000012 of 2024-01-01T09:00:00+09:00, access_token=[masked], eyJhbGciOi [masked]',
  );
});

test('of a page only its text is told, at most 300 characters', () => {
  expect(errorText('<html><head><style>p{}</style></head><body><h1>502</h1>Bad  gateway</body></html>')).toBe(
    '502 Bad gateway',
  );
  expect(errorText('x '.repeat(400))).toHaveLength(300);
  expect(errorText('')).toBeUndefined();
  expect(errorText('{"error":"the access token expired"}')).toBe('error: the access token expired');
});

test('what a service says twice, as text and as a list, is told once', () => {
  const errors = ['code: found nothing, expected a value', 'score: found 9, expected 1 to 5'];
  const words = errorText(JSON.stringify({ error: errors.join('; '), errors, line: 5 }));
  expect(words).toBe(`error: ${errors.join('; ')}; line: 5`);
});

test('what no column of Postgres can hold, NUL and half a surrogate pair, is left out', () => {
  expect(errorText('{"error":"bad\\u0000name \\ud83d"}')).toBe('error: bad name \ufffd');
  expect(errorText('bad\u0000name')).toBe('bad name');
  expect(errorText('😀'.repeat(400))?.isWellFormed()).toBe(true);
});
