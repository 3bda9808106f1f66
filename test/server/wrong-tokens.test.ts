import { expect, test } from 'vitest';
import { openServe } from '../harness/serve.ts';

const wrong = { authorization: 'Bearer not-the-token-of-it' };

test.each([
  ['GET', '/', 'the status page', 401],
  ['GET', '/metrics', '/metrics', 401],
  ['GET', '/queues', 'the status page', 401],
  ['POST', '/webhooks/not-the-secret-of-it', 'a webhook', 404],
])('a wrong token at %s %s is slowed down and logged', async (method, path, what, status) => {
  const tokens = { STATUS_TOKEN: 'secret-of-the-page', WEBHOOK_SECRET: 'secret-of-the-webhook' };
  await using serving = await openServe(tokens);
  const startedAt = performance.now();
  expect((await fetch(`${serving.url}${path}`, { method, headers: wrong })).status).toBe(status);
  // A lower bound only: a timer of Node may end a millisecond early.
  expect(performance.now() - startedAt).toBeGreaterThan(240);
  const { stderr } = await serving.stop();
  const lines = stderr.split('\n').filter((line) => line.includes('a request had a wrong token'));
  expect(lines.map((line) => JSON.parse(line))).toMatchObject([{ what, wrongTokens: 1 }]);
  expect(stderr).not.toContain('not-the');
});
