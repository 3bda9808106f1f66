import { expect, test } from 'vitest';
import { openLog, withRun } from '../../src/base/log.ts';

const id = 'sync-orders_2024-01-01_0a1b2c3d4e5f60718293a4b5c6d7e8f9';
const lines: string[] = [];
const log = openLog('trace', (line) => void lines.push(line));
const deep = { b: { c: { userEmail: 'v-1', user_phone: 'v-2', AccessToken: 'v-3' } } };
log.info({ a: deep, list: [{ userName: 'v-4' }] }, 'x');
log.warn({ error: 'minji@shop.example is taken', err: new Error('call 821012345678') }, 'x');
withRun(id, () => log.info({ runId: id, id, job: id, queue: id, worker: id, code: id }, 'x'));
const name = 'Kim\n{\u202e';
log.info({ a: name, err: new Error(name) }, `run of ${name}`);
const [fields = '', texts = '', ids = '', forged = ''] = lines;

test('a log line shows no private field, and no address or phone number in a text or an error', () => {
  expect(fields).not.toMatch(/v-[1-4]/);
  expect(fields.match(/\[redacted\]/g)).toHaveLength(4);
  expect(texts).toMatch(/\[e-mail\] is taken.*call \[phone\]/);
});

test('a log line shows the ids and names of review-sync as they are', () => {
  for (const name of ['run', 'runId', 'id', 'job', 'queue', 'worker']) expect(ids).toContain(`"${name}":"${id}"`);
  expect(ids).not.toContain(`"code":"${id}"`);
});

test('a name with a line feed or a bidi character forges no line of the log', () => {
  const { a, err, msg } = JSON.parse(forged) as Record<string, string>;
  expect([a, err, msg]).toEqual(['Kim\\u{a}{\\u{202e}', 'Kim\\u{a}{\\u{202e}', 'run of Kim\\u{a}{\\u{202e}']);
});
