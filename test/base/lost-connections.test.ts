import { expect, test } from 'vitest';
import { IncompleteError, ReviewSyncError } from '../../src/base/errors.ts';
import { isTransient } from '../../src/base/lost-connections.ts';

const failure = (facts: object) => Object.assign(new Error('no'), facts);
const unreachable = (cause: unknown) => new ReviewSyncError('shop', 'The shop database cannot be reached', { cause });

test.each<[string, unknown, boolean]>([
  ['a refused connection', failure({ code: 'ECONNREFUSED' }), true],
  ['a database that is shutting down', failure({ severity: 'FATAL', code: '57P01' }), true],
  ['a database without a free connection', failure({ severity: 'FATAL', code: '53300' }), true],
  ['a wrong password', failure({ severity: 'FATAL', code: '28P01' }), false],
  ['a shop that refuses connections, as during a failover', unreachable(failure({ code: 'ECONNREFUSED' })), true],
  ['a shop with a wrong password', unreachable(failure({ severity: 'FATAL', code: '28P01' })), false],
  ['a shop that is reached and at fault', unreachable(undefined), false],
  ['any other error of this program', new ReviewSyncError('shop-query', 'wrong column'), false],
  ['a list of reviews that the service refuses', new IncompleteError('403'), false],
  ['its cause, too', new ReviewSyncError('queue', 'gone', { cause: failure({ code: 'ECONNREFUSED' }) }), false],
])('%s is transient, or is not, as it should be', (_what, error, expected) => {
  expect(isTransient(error)).toBe(expected);
});

test('of the errors of a database those of connection, rollback, resources, state, shutdown and system are transient', () => {
  const transient = ['08006', '40001', '53300', '55P03', '57014', '58030'];
  for (const state of [...transient, '22P02', '23505', '42P01'])
    for (const error of [failure({ severity: 'ERROR', code: state }), failure({ sqlState: state, code: 'ER_OTHER' })])
      expect([state, isTransient(error)]).toEqual([state, transient.includes(state)]);
});
