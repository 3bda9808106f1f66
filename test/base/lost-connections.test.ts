import { expect, test } from 'vitest';
import { ReviewSyncError } from '../../src/base/errors.ts';
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
  ['any other error of this program', new ReviewSyncError('shop-query', 'wrong column'), false],
])('%s is transient, or is not, as it should be', (_what, error, expected) => {
  expect(isTransient(error)).toBe(expected);
});
