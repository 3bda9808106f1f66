import { createServer, type Server } from 'node:net';
import pg from 'pg';
import { expect, inject, onTestFinished, test } from 'vitest';
import { describeError, describeWithHint, ReviewSyncError } from '../../src/base/errors.ts';
import { openQueues } from '../../src/queue/index.ts';
import { hasRedis, startRedis } from '../harness/redis.ts';

const failure = (work: Promise<unknown>) =>
  work.then(
    () => expect.fail('expected a failure'),
    (error: unknown) => describeWithHint(error),
  );

async function listening(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  return (server.address() as { port: number }).port;
}

test('an error of a database is shown in plain words, with its own message in parentheses and the next step', async () => {
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
    expect.stringMatching(/^the server closed the connection \(.*\) → check whether it restarts/),
    expect.stringMatching(/^the server is a standby or read-only \(.*\) → name the primary/),
  ]);
});

test.each([
  [
    '53100',
    'could not extend file "base/5/1": No space left on device',
    /^the disk of the server is full \(.*→ free space/,
  ],
  ['53200', 'out of memory', /^the memory of the server is full \(out of memory\) → /],
  ['53300', 'sorry, too many clients already', /no free connection \(.*→ raise max_connections/],
  [
    '28P01',
    'password authentication failed for user "x"',
    /^user or password is wrong \(.*→ correct them in its address/,
  ],
  ['CERT_HAS_EXPIRED', 'certificate has expired', /^the certificate of the server has expired \(/],
  ['ERR_TLS_CERT_ALTNAME_INVALID', 'Hostname does not match', /^the certificate of the server is for another host/],
  ['UND_ERR_HEADERS_TIMEOUT', 'Headers Timeout Error', /^the server does not respond \(/],
])('%s is shown in plain words', (code, message, words) => {
  expect(describeWithHint(Object.assign(new Error(message), { code }))).toMatch(words);
});

test('a plain message stays unchanged, and nothing is shown twice', () => {
  expect(describeWithHint(new Error('28 of 200 parts failed'))).toBe('28 of 200 parts failed');
  const cause = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' });
  const reported = new ReviewSyncError('shop', `The shop cannot be reached: ${describeError(cause)}`, { cause });
  expect(describeError(reported)).toBe('The shop cannot be reached: nothing listens there (connect ECONNREFUSED)');
  expect(describeWithHint(new Error(describeWithHint(reported), { cause: reported }))).toBe(describeWithHint(reported));
});

test.skipIf(!hasRedis)(
  'a Redis that refuses the login, and a server that is not a Redis, are reported as such',
  async () => {
    const redis = await startRedis(['--requirepass', 'secret']);
    onTestFinished(redis.close);
    const site = await listening(createServer((socket) => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n')));
    expect(await failure(openQueues(redis.url))).toMatch(/cannot be reached: the server requires a password \(NOAUTH/);
    expect(await failure(openQueues(redis.url.replace('//', '//:wrong@')))).toMatch(
      /user or password is wrong \(WRONGPASS/,
    );
    expect(await failure(openQueues('redis://127.0.0.1:1'))).toMatch(/nothing listens there \(connect ECONNREFUSED/);
    expect(await failure(openQueues(`redis://127.0.0.1:${site}`))).toMatch(/the server at this port is not a Redis/);
  },
);

test('the long name of a table stays readable in a message of MySQL, and a token beside it does not', () => {
  const table = 'shop7_woocommerce_order_itemmeta_lookup';
  for (const shown of [`for table \`woo\`.\`${table}\``, `Table 'woo.${table}' doesn't exist`]) {
    expect(describeError(new Error(`${shown}; ${table}`))).toBe(`${shown}; [masked]`);
  }
});
