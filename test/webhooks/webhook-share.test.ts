import { expect, test } from 'vitest';
import { webhookShare } from '../../src/background/apply-webhooks.ts';

test.each([
  [{ concurrency: 8 }, { atATime: 2, spacingMs: 50 }],
  [{ concurrency: 1 }, { atATime: 2, spacingMs: 50 }],
  [
    { concurrency: 40, requestsPerSecond: 1000 },
    { atATime: 10, spacingMs: 50 },
  ],
  [
    { concurrency: 8, requestsPerSecond: 8 },
    { atATime: 2, spacingMs: 500 },
  ],
])('of %j webhooks use %j', (limits, share) => {
  expect(webhookShare(limits)).toEqual(share);
});
