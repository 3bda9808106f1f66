import { expect, test } from 'vitest';
import { describeError, describeWithHint, hintOf, ReviewSyncError } from '../../src/base/errors.ts';
import { describeFailure } from '../../src/cli/failure.ts';
import { evictionPolicy } from '../../src/queue/connection.ts';
import { openQueues } from '../../src/queue/index.ts';
import { redisTest } from '../harness/queues.ts';
import { startRedis } from '../harness/servers.ts';

const closed = 'closed the connection';
const authorities = 'NODE_EXTRA_CA_CERTS, in the environment of the process and not in .env';

test.each([
  ['CERT_HAS_EXPIRED', 'the certificate of the server has expired', 'let its owner renew it'],
  ['ERR_TLS_CERT_ALTNAME_INVALID', 'is for another host name', 'use the host name of the certificate'],
  ['UNABLE_TO_GET_ISSUER_CERT|SELF_SIGNED_CERT_IN_CHAIN|CERT_UNTRUSTED', 'does not trust', authorities],
  ['EPROTO|ERR_SSL_PACKET_LENGTH_TOO_LONG|packet length too long', 'does not speak TLS at this port', 'use http://'],
  ['Received unexpected commandComplete message from backend', 'is not a Postgres', 'correct the port.*mysql://'],
  ['28P01|WRONGPASS no', 'user or password is wrong', 'correct them in its address'],
  ['ER_ACCESS_DENIED_ERROR', 'refuses this user, or its password is wrong', 'correct them in its address'],
  ['HANDSHAKE_SSL_ERROR', 'no', 'not in .env, or write ssl=no-verify'],
  ['NOAUTH no|SASL: client password must be a string', 'requires a password', 'add it to its address'],
  ['28000', 'refuses this user from this machine', 'correct user and password.*pg_hba.conf'],
  ['42501|NOPERM no', 'no', 'grant the user this right'],
  ['relation "sync_b.runs" does not exist|relation "bi.reviews" does not', 'relation', 'restore it: after .*migrate'],
  ['53100|ENOSPC|No space left on device', 'the disk is full', 'free space'],
  ['EACCES|EPERM|EROFS', 'this user has no right', 'name another place'],
  ['53200|OOM no', 'the memory of the server is full', 'give it more memory'],
  ['53300|remaining connection slots', 'no free', 'of the server at its'],
  ['too many clients|max number of clients reached', 'no free', 'of the server at its'],
  ['25006|READONLY no', 'a standby or read-only', 'name the primary'],
  ['57P01|57P03|LOADING no', 'starting or stopping', 'server at its address is up'],
  ['57014', 'the statement took too long', 'find out why'],
  ['55P03', 'another session holds a lock', 'let it finish'],
  ['unsupported startup parameter: options', 'a pooler drops our startup options', 'itself in QUEUE_URL'],
  ['function add_job(unknown) does not exist|relation "scheduler" does not exist', 'a pooler drops', 'itself in QUEUE'],
  ['ECONNREFUSED', 'nothing listens there', 'start the server'],
  ['ENOTFOUND|EAI_AGAIN', 'the host name cannot be resolved', 'correct the host name'],
  ['ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|UND_ERR_CONNECT_TIMEOUT', 'no connection to the server', 'open the firewall'],
  ['UND_ERR_HEADERS_TIMEOUT|UND_ERR_BODY_TIMEOUT|SERVER_SILENT|timeout exceeded', 'does not respond', 'it hangs'],
  ['Connection terminated due to connection timeout|Socket timeout. ', 'does not respond', 'whether it hangs'],
  ['ECONNRESET|EPIPE|UND_ERR_SOCKET|Connection terminated|socket hang up', closed, 'its address restarts'],
  ['PROTOCOL_CONNECTION_LOST|ER_CONNECTION_KILLED|Connection is closed', closed, 'its address restarts'],
  ['Client has encountered a connection error and is not queryable', closed, 'its address restarts'],
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
  const ofCustomer = { cause: new Error('no order of kim@example.com') };
  const masked = new ReviewSyncError('shop', `The shop cannot be read: ${describeError(ofCustomer.cause)}`, ofCustomer);
  expect(describeError(masked)).toBe('The shop cannot be read: no order of [e-mail]');
  const several = new AggregateError([new Error('refused'), 'gone']);
  expect([several, new TypeError(''), 'a text'].map(describeError)).toEqual(['refused; gone', 'TypeError', 'a text']);
  expect(describeWithHint(new AggregateError([cause]))).toBe(describeWithHint(cause));
  const ofFile = Object.assign(new Error('EROFS, open .env'), { code: 'EROFS', path: '.env' });
  expect(describeFailure(ofFile)).toMatch(/^review-sync: .*open \.env\)\n→ .* name another place\n$/);
});

redisTest('a Redis that refuses the login or scripts, or has no such database, is named', async () => {
  const user = ['--user', 'few', 'on', '>few', '~*', '&*', '+@all', '-eval', '-evalsha'];
  const redis = await startRedis(['--requirepass', 'secret', ...user]);
  const loggedIn = redis.url.replace('//', '//:secret@');
  for (const [url, said] of [
    [redis.url, /cannot be reached: the server requires a password \(NOAUTH/],
    [redis.url.replace('//', '//:wrong@'), /user or password is wrong \(WRONGPASS/],
    [`${loggedIn}/99`, /DB index is out of range/],
    [`${loggedIn}/?db=99`, /DB index is out of range/],
    ['redis://127.0.0.1:1', /nothing listens there \(connect ECONNREFUSED/],
  ] as const)
    expect(await openQueues(url, { installation: 'test' }).then(() => 'opened', describeWithHint)).toMatch(said);
  await (await openQueues(`${loggedIn}/3`, { installation: 'test' })).close();
  const url = redis.url.replace('//', '//few:few@');
  await using queues = await openQueues(url, { installation: 'test' });
  const said = /^review-sync: The queue \(QUEUE_URL\) cannot be used: NOPERM .*'eval.*\n→ grant the user/;
  expect(await queues.add('sync-orders', 'run').then(() => 'added', describeFailure)).toMatch(said);
  await expect(evictionPolicy(url)).rejects.toThrow(/NOPERM .*'eval/);
});

test('the long name of a table stays readable in a message of MySQL, a token does not', () => {
  const table = 'shop7_woocommerce_order_itemmeta_lookup';
  for (const shown of [`for table \`woo\`.\`${table}\``, `Table 'woo.${table}' doesn't exist`]) {
    expect(describeError(new Error(`${shown}; ${table}`))).toBe(`${shown}; [masked]`);
  }
});
