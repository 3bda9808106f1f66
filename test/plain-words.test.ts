import { createServer, type Server } from 'node:net';
import pg from 'pg';
import { expect, inject, onTestFinished, test } from 'vitest';
import { describeError, describeWithAdvice, ReviewSyncError } from '../src/errors.ts';
import { openQueues } from '../src/queue/index.ts';
import { hasRedis, startRedis } from './harness/redis.ts';

const failure = (work: Promise<unknown>) =>
  work.then(
    () => expect.fail('expected a failure'),
    (error: unknown) => describeWithAdvice(error),
  );

async function listening(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  return (server.address() as { port: number }).port;
}

test('what a database answers is said in plain words, with its own in parentheses and what to do', async () => {
  const ask = (change: (url: URL) => void, statement = 'select 1') => {
    const url = new URL(inject('postgresUrl'));
    change(url);
    const client = new pg.Client({ connectionString: url.href });
    return failure(client.connect().then(() => client.query(statement).finally(() => client.end())));
  };
  const slammed = await listening(createServer((socket) => socket.destroy()));
  expect(
    await Promise.all([
      ask((url) => {
        url.pathname = '/nowhere';
      }),
      ask((url) => {
        url.port = '1';
      }),
      ask((url) => {
        url.port = String(slammed);
      }),
      ask(() => {}, 'begin read only; create table t ()'),
    ]),
  ).toEqual([
    expect.stringMatching(/^database "nowhere" does not exist → create the database, or/),
    expect.stringMatching(
      /^nothing listens there \(connect ECONNREFUSED .*\) → start the server, or correct host and port/,
    ),
    expect.stringMatching(/^it broke the connection off \(.*\) → see whether it is being restarted/),
    expect.stringMatching(/^the server is a standby or read-only, and takes no writes \(.*\) → name the primary/),
  ]);
});

test.each([
  [
    '53100',
    'could not extend file "base/5/1": No space left on device',
    /^the disk of the server is full \(.*→ make room/,
  ],
  ['53200', 'out of memory', /^the memory of the server is full \(out of memory\) → /],
  ['53300', 'sorry, too many clients already', /no connection left to give \(.*→ raise max_connections/],
  [
    '28P01',
    'password authentication failed for user "x"',
    /^user or password are wrong \(.*→ correct them in its address/,
  ],
  ['CERT_HAS_EXPIRED', 'certificate has expired', /^the certificate of the server has expired \(/],
  ['ERR_TLS_CERT_ALTNAME_INVALID', 'Hostname does not match', /^the certificate of the server is for another host/],
  ['UND_ERR_HEADERS_TIMEOUT', 'Headers Timeout Error', /^it accepts the connection, but does not answer \(/],
])('%s is said in plain words', (code, message, words) => {
  expect(describeWithAdvice(Object.assign(new Error(message), { code }))).toMatch(words);
});

test('what speaks for itself is left as it is, and nothing is said twice', () => {
  expect(describeWithAdvice(new Error('28 of 200 parts failed'))).toBe('28 of 200 parts failed');
  const cause = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' });
  const told = new ReviewSyncError('shop', `The shop cannot be reached: ${describeError(cause)}`, { cause });
  expect(describeError(told)).toBe('The shop cannot be reached: nothing listens there (connect ECONNREFUSED)');
  expect(describeWithAdvice(new Error(describeWithAdvice(told), { cause: told }))).toBe(describeWithAdvice(told));
});

test.skipIf(!hasRedis)('a Redis that is not let into, or is none, is told by its reason', async () => {
  const redis = await startRedis(['--requirepass', 'secret']);
  onTestFinished(redis.close);
  const site = await listening(createServer((socket) => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n')));
  expect(await failure(openQueues(redis.url))).toMatch(/cannot be reached: the server wants a password \(NOAUTH/);
  expect(await failure(openQueues(redis.url.replace('//', '//:wrong@')))).toMatch(
    /user or password are wrong \(WRONGPASS/,
  );
  expect(await failure(openQueues('redis://127.0.0.1:1'))).toMatch(/nothing listens there \(connect ECONNREFUSED/);
  expect(await failure(openQueues(`redis://127.0.0.1:${site}`))).toMatch(/what answers at this port is no Redis/);
});
