import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { seedReviews } from '../../src/sandbox/reference-service/seed.ts';
import { anOrder, runService } from '../sandbox/reference-service/service.ts';

const root = join(import.meta.dirname, '..', '..');
const example = join(root, 'examples', 'client.ts');

/** Runs the example with plain node, from a folder of strangers, with nothing but its three variables. */
async function run(baseUrl: string, clientSecret: string, ...args: string[]) {
  const env = { REVIEW_API_BASE_URL: baseUrl, REVIEW_API_CLIENT_ID: 'demo', REVIEW_API_CLIENT_SECRET: clientSecret };
  const child = spawn(process.execPath, [example, ...args], { env, cwd: tmpdir(), stdio: ['ignore', 'pipe', 'pipe'] });
  const [stdout, stderr, [status]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
  return { status, stdout, stderr };
}

const daysAgo = (days: number, score: number | null) => {
  const at = new Date(Date.now() - days * 86_400_000);
  return { product_code: 'P-1', message: 'Good.', score, created_at: at, updated_at: at };
};

test('the example counts a week of reviews and prints an order, by plain node', async () => {
  const reviews = [daysAgo(1, 5), daysAgo(2, 5), daysAgo(3, null), daysAgo(20, 1)];
  const { url, call } = await runService({}, (databaseUrl) => seedReviews(databaseUrl, reviews));
  await call('POST', '/v1/orders', { json: anOrder });
  const { status, stdout, stderr } = await run(url, 'demo', anOrder.code);
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  expect(stdout).toContain(`reviews by score: { '5': 2, none: 1 }`);
  expect(stdout).toContain(`code: '${anOrder.code}'`);
  expect(stdout).toContain(`username: 'Kim'`);
});

test('with a wrong secret the example ends in an error that does not quote it', async () => {
  const { url } = await runService();
  const { status, stderr } = await run(url, 'wr0ng-s3cret');
  expect(status).toBe(1);
  expect(stderr).toContain('AuthenticationError: POST /oauth/token: the review service did not accept the credentials');
  expect(stderr).not.toContain('wr0ng-s3cret');
});

test('the page on the client shows the example as it is', async () => {
  const [page, code] = await Promise.all([
    readFile(join(root, 'src', 'review-api', 'README.md'), 'utf8'),
    readFile(example, 'utf8'),
  ]);
  expect(page).toContain(`\`\`\`ts\n${code}\`\`\`\n`);
});
