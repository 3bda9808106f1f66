import { createServer, type Server } from 'node:net';
import pg from 'pg';
import { expect, inject, onTestFinished, test } from 'vitest';
import { describeError, describeWithHint, hintOf, ReviewSyncError } from '../../src/base/errors.ts';
import { openQueues } from '../../src/queue/index.ts';
import { redisTest } from '../harness/queues.ts';
import { startRedis } from '../harness/servers.ts';

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
  ['CERT_HAS_EXPIRED', 'the certificate of the server has expired', 'let its owner renew it'],
  ['ERR_TLS_CERT_ALTNAME_INVALID', 'is for another host name', 'use the host name of the certificate'],
  [
    'UNABLE_TO_GET_ISSUER_CERT|SELF_SIGNED_CERT_IN_CHAIN|CERT_UNTRUSTED',
    'does not trust',
    'NODE_EXTRA_CA_CERTS, in the environment of the process and not in .env',
  ],
  ['EPROTO|ERR_SSL_PACKET_LENGTH_TOO_LONG|packet length too long', 'does not speak TLS at this port', 'use http://'],
  ['The plain HTTP request was sent to HTTPS port', 'requires TLS at this port', 'use https://'],
  ['Protocol error, got "H" as reply', 'is not a Redis', 'correct the port'],
  ['Received unexpected commandComplete message from backend', 'is not a Postgres', 'correct the port.*mysql://'],
  ['28P01|WRONGPASS no', 'user or password is wrong', 'correct them in its address'],
  ['ER_ACCESS_DENIED_ERROR', 'refuses this user, or its password is wrong', 'correct them in its address'],
  ['ER_BAD_DB_ERROR|3D000', 'no', 'create the database, or correct its name'],
  ['ER_DBACCESS_DENIED_ERROR|ER_TABLEACCESS_DENIED_ERROR|ER_COLUMNACCESS_DENIED_ERROR', 'no', 'grant the user select'],
  ['HANDSHAKE_SSL_ERROR', 'no', 'not in .env, or write ssl=no-verify'],
  ['HANDSHAKE_NO_SSL_SUPPORT', 'the server does not speak TLS', 'leave ssl=true out'],
  ['NOAUTH no|SASL: client password must be a string', 'requires a password', 'add it to its address'],
  ['28000', 'refuses this user from this machine', 'correct user and password.*pg_hba.conf'],
  ['08P01', 'no', 'a pooler refuses it'],
  ['42501|NOPERM no', 'no', 'grant the user this right'],
  ['53100|ENOSPC|No space left on device', 'the disk of the server is full', 'free space'],
  ['53200|OOM no', 'the memory of the server is full', 'give it more memory'],
  [
    '53300|remaining connection slots|too many clients|max number of clients reached',
    'no free',
    'raise max_connections',
  ],
  ['25006|READONLY no', 'a standby or read-only', 'name the primary'],
  ['57P01|57P03|LOADING no', 'starting or stopping', 'wait until it is up'],
  ['57014', 'the statement took too long', 'find out why'],
  ['55P03', 'another session holds a lock', 'let it finish'],
  ['ECONNREFUSED', 'nothing listens there', 'start the server'],
  ['ENOTFOUND|EAI_AGAIN', 'the host name cannot be resolved', 'correct the host name'],
  ['ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|UND_ERR_CONNECT_TIMEOUT', 'no connection to the server', 'open the firewall'],
  [
    'UND_ERR_HEADERS_TIMEOUT|UND_ERR_BODY_TIMEOUT|SERVER_SILENT|timeout exceeded',
    'does not respond',
    'check whether it hangs',
  ],
  ['Connection terminated due to connection timeout', 'does not respond', 'check whether it hangs'],
  [
    'ECONNRESET|EPIPE|UND_ERR_SOCKET|Connection terminated|socket hang up',
    'closed the connection',
    'whether it restarts',
  ],
  [
    'PROTOCOL_CONNECTION_LOST|ER_CONNECTION_KILLED|Connection is closed',
    'closed the connection',
    'whether it restarts',
  ],
])('the error %s is shown in plain words (%s) with the next step (%s)', (errors, what, hint) => {
  for (const one of errors.split('|')) {
    // A code, or a message where there are spaces.
    const error = one.includes(' ') ? new Error(one) : Object.assign(new Error('no'), { code: one });
    expect(describeWithHint(error)).toMatch(new RegExp(`^[^→(]*${what}.* → .*${hint}`));
  }
});

test('a plain message stays unchanged, and nothing is shown twice', () => {
  expect(describeWithHint(new Error('28 of 200 parts failed'))).toBe('28 of 200 parts failed');
  const cause = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' });
  const hint = 'ask its owner';
  const reported = new ReviewSyncError('shop', `The shop cannot be reached: ${describeError(cause)}`, { cause, hint });
  expect(hintOf(reported)).toMatch(/^start the server/);
  expect(hintOf(new ReviewSyncError('shop', 'no', { hint }))).toBe(hint);
  expect(describeError(reported)).toBe('The shop cannot be reached: nothing listens there (connect ECONNREFUSED)');
  expect(describeWithHint(new Error(describeWithHint(reported), { cause: reported }))).toBe(describeWithHint(reported));
  const ofCustomer = new Error('no order of kim@example.com');
  const masked = new ReviewSyncError('shop', `The shop cannot be read: ${describeError(ofCustomer)}`, {
    cause: ofCustomer,
  });
  expect(describeError(masked)).toBe('The shop cannot be read: no order of [e-mail]');
  const several = new AggregateError([new Error('refused'), 'gone']);
  expect([several, new TypeError(''), 'a text'].map(describeError)).toEqual(['refused; gone', 'TypeError', 'a text']);
  expect(describeWithHint(new AggregateError([cause]))).toBe(describeWithHint(cause));
});

redisTest('a Redis that refuses the login, and a server that is not a Redis, are reported as such', async () => {
  const redis = await startRedis(['--requirepass', 'secret']);
  onTestFinished(redis.close);
  const site = await listening(createServer((socket) => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n')));
  expect(await failure(openQueues(redis.url, 'test'))).toMatch(
    /cannot be reached: the server requires a password \(NOAUTH/,
  );
  expect(await failure(openQueues(redis.url.replace('//', '//:wrong@'), 'test'))).toMatch(
    /user or password is wrong \(WRONGPASS/,
  );
  for (const database of ['99', '?db=99'])
    expect(await failure(openQueues(`${redis.url.replace('//', '//:secret@')}/${database}`, 'test'))).toMatch(
      /the server has no database of this number .*correct the number in/,
    );
  await (await openQueues(`${redis.url.replace('//', '//:secret@')}/3`, 'test')).close();
  expect(await failure(openQueues('redis://127.0.0.1:1', 'test'))).toMatch(
    /nothing listens there \(connect ECONNREFUSED/,
  );
  expect(await failure(openQueues(`redis://127.0.0.1:${site}`, 'test'))).toMatch(
    /the server at this port is not a Redis/,
  );
});

test('the long name of a table stays readable in a message of MySQL, and a token beside it does not', () => {
  const table = 'shop7_woocommerce_order_itemmeta_lookup';
  for (const shown of [`for table \`woo\`.\`${table}\``, `Table 'woo.${table}' doesn't exist`]) {
    expect(describeError(new Error(`${shown}; ${table}`))).toBe(`${shown}; [masked]`);
  }
});
