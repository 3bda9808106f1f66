import { expect, test } from 'vitest';
import { describeError } from '../../src/base/errors.ts';
import { isPrivateField, mask, shownValue } from '../../src/base/mask.ts';
import { withoutStatement } from '../../src/shop/mysql/mysql-words.ts';
import { maskedReason } from '../../src/warehouse/dead-letters.ts';

test.each([
  ['redirects to https://shop:pw1@intern/x', 'redirects to https://[masked]@intern/x'],
  ['minji@shop.example is taken', '[e-mail] is taken'],
  ['to=Minji.Kim%40shop.example&x=1', 'to=[e-mail]&x=1'],
  ['kim@한글도메인.kr and kim@xn--bj0bj06e.xn--3e0b707e', '[e-mail] and [e-mail]'],
  ['kim%40%ED%95%9C%EA%B8%80.kr', '[e-mail]'],
  ['call 821012345678 or +82-10-1234-5678 or 82 10 1234 5678', 'call [phone] or [phone] or [phone]'],
  ['phone=%2B821012345678', 'phone=[phone]'],
  ['010.1234.5678, (02) 123-4567, 010 12345678', '[phone], [phone], [phone]'],
  ['０１０-１２３４-５６７８ or ０１０－１２３４－５６７８', '[phone] or [phone]'],
  ['＋８２１０１２３４５６７８', '[phone]'],
  ['010–1234–5678 or 010\u22121234\u22125678', '[phone] or [phone]'],
  ['010\u00a01234\u00a05678 or 010\u200b12345678', '[phone] or [phone]'],
  ['010_1234_5678 or 82_10_1234_5678', '[phone] or [phone]'],
  ['phone=010%2D1234%2D5678&x=010%E2%80%931234%E2%80%935678', 'phone=[phone]&x=[phone]'],
  ['kim＠shop.example', '[e-mail]'],
  ['zeb&#64;shop.example, zeb&#x40;shop.example, 010&#45;1234&#45;5678', '[e-mail], [e-mail], [phone]'],
  ['token: a1b2c3, Bearer a.1-b2', 'token: [masked], Bearer [masked]'],
  ['{"client_secret": "s3cr3t"}', '{"client_secret": "[masked]"}'],
  ['authorization=a1b2c3d', 'authorization=[masked]'],
])('%s is masked by its shape', (text, masked) => {
  expect(mask(text)).toBe(masked);
});

test.each([
  'order 20240101-0000012 of 2024-01-01T09:00:00+09:00',
  'review 8210123 of page 12, status 422, 1234567890 rows',
  '2026-11-21T16:33:48.123Z',
  'window 2024-01-01 00:00:00 to 2024-02-15 00:00:00',
  'run: review-sync runs end backfill-orders-mi3f8x2k-c0ffeec0ffee',
  '2024-01-01 – 2024-02-15, 2024-01-01 - 2024-02-15, 2024-01-01_2024-02-15',
])('%s stays as it is', (text) => {
  expect(mask(text)).toBe(text);
});

test.each([
  ['Kim Minji', 'KIM MINJI was refused'],
  ['김훈', '김훈 was refused'],
  ['김민지', 'name %EA%B9%80%EB%AF%BC%EC%A7%80 was refused'],
  ['김민지', 'name \\uae40\\ubbfc\\uc9c0 was refused'],
  ['Kim Minji', 'Kim+Minji was refused'],
  ['010-1234-5678', '8210-12345678 was refused'],
  ['+82 10 1234 5678', '01012345678 was refused'],
  ['０１０–１２３４–５６７８', '010.1234.5678 was refused'],
  ['Ｍｉｎｊｉ', 'ｍｉｎｊｉ was refused'],
  ['Ｍｉｎｊｉ', '%EF%BC%AD%EF%BD%89%EF%BD%8E%EF%BD%8A%EF%BD%89 was refused'],
  ['kim@한글.kr', 'kim@xn--bj0bj06e.kr was refused'],
])('the secret %s is found in: %s', (secret, text) => {
  expect(mask(text, [secret])).toMatch(/(\[masked\]|\[e-mail\]) was refused$/);
  expect(mask(text, [secret])).not.toMatch(/minji|5678|김|EA%B9|uae40|ｍｉｎｊｉ|EF%BC|@/iu);
});

test.each([
  ['22P02', 'invalid input syntax for type json: "Kim\n"Minji" of Seoul"', 'invalid input syntax for type json: …'],
  ['22003', 'value "821012345678" is out of range for type integer', 'value … is out of range for type integer'],
  ['23505', 'duplicate key value violates unique constraint "orders_pkey"', undefined],
  ['mysql 22007', "Incorrect datetime value: 'Kim 'Minji' of Seoul'", 'Incorrect datetime value: …'],
  ['mysql 42S02', "Table 'shop.o' doesn't exist", undefined],
])('a complaint %s of a database is reported without values, and with names', (state, message, reported = message) => {
  const [, sqlState] = state.split('mysql ');
  const code = sqlState ? 'ER_OTHER' : state;
  const error = Object.assign(new Error(message), { code, sqlState, sqlMessage: message });
  expect(describeError(sqlState ? withoutStatement(error) : error)).toBe(reported);
});

test('addresses and phone numbers are masked in an error and its causes', () => {
  const cause = new Error('no grade for minji@shop.example');
  expect(describeError(new Error('call 010-1234-5678', { cause }))).toBe('call [phone]: no grade for [e-mail]');
});

test('a field is private in whichever way its name is written', () => {
  const secrets = 'access_token accessToken token client-secret secret password Authorization cookie'.split(' ');
  const personal = 'user_email UserPhone user_name username email phone name message body payload'.split(' ');
  for (const name of [...secrets, ...personal]) expect(isPrivateField(name), name).toBe(true);
  for (const name of ['run', 'queue', 'status', 'code', 'error']) expect(isPrivateField(name), name).toBe(false);
});

test('a wrong value is shown if it is a date or short number, else its kind', () => {
  const shown = ['2024-02-30 00:00:00', 'infinity', 'NaN', 0, -3, null, true].map(shownValue);
  expect(shown).toEqual(['2024-02-30 00:00:00', 'infinity', 'NaN', '0', '-3', 'null', 'true']);
  expect([821012345678, '821012345678'].map(shownValue)).toEqual(Array(2).fill('a number of 12 digits'));
  const hidden = ['Minji', '010-1234-5678', { a: 1 }, [1], '1 Main Street'].map(shownValue);
  expect(hidden.join()).not.toMatch(/minji|1234|street/i);
});

test.each([60_000, 3_000_000])('a secret of %i characters is masked, whole or cut off', (length) => {
  const secret = 'A long text. '.repeat(length / 13);
  expect(mask(`refused: ${secret}`, [secret])).toBe('refused: [masked]…');
  expect(mask(`refused: ${secret.slice(0, 5000)}`, [secret])).toBe('refused: [masked]');
  expect(mask('score is no number', [secret, '1'.repeat(length)])).toBe('score is no number');
});

test('of a text of any length the beginning is masked and returned', () => {
  const text = mask(`to kim@shop.example ${'y'.repeat(3_000_000)}`, ['Minji']);
  expect(text).toMatch(/^to \[e-mail\] y+…$/);
  expect(text.length).toBeLessThan(10_000);
  expect(mask(`${'fine '.repeat(1999)}Minji Kim`, ['Minji Kim'])).not.toMatch(/Minj/);
});

test('no text takes more time than in proportion to its length', () => {
  // One of them took 172 s where the length of an address had no limit.
  for (const part of ['a%40', 'a@', '%40', '@a.', '@a.%40', 'a.'])
    for (let times = 0; times < 20; times += 1) mask(part.repeat(2500));
  const names = Array.from({ length: 50_000 }, (_, index) => ({ name: `n${index}` }));
  expect(maskedReason({ kind: 'review', key: 'k', reason: 'a reason', payload: [names] })).toBe('[masked]');
  // Reasons of webhooks stay as they are: a sender may name thousands of values.
  expect(maskedReason({ kind: 'webhook', key: 'k', reason: 'a reason', payload: [names] })).toBe('a reason');
});

test('a name that comes back with the entities of HTML is masked', () => {
  const text = mask('D&#39;Angelo, d&apos;angelo and D&#x27;Angelo &amp; sons; &unknown; &#9999999; stay', [
    "D'Angelo",
  ]);
  expect(text).toBe('[masked], [masked] and [masked] & sons; &unknown; &#9999999; stay');
});
