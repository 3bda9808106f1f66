import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { seedReviews } from '../../src/sandbox/reference-service/seed.ts';
import { runService } from '../sandbox/reference-service/service.ts';

const root = join(import.meta.dirname, '..', '..');
const example = join(root, 'examples', 'client.ts');

const daysAgo = (days: number, score: number | null) => {
  const at = new Date(Date.now() - days * 86_400_000);
  return { product_code: 'P-1', message: 'Good.', score, created_at: at, updated_at: at };
};

test('the example counts a week of reviews and prints an order, by plain node', async () => {
  const reviews = [daysAgo(1, 5), daysAgo(2, 5), daysAgo(3, null), daysAgo(20, 1)];
  const { url, call } = await runService({}, (databaseUrl) => seedReviews(databaseUrl, reviews));
  const order = { code: 'A-1', created_at: '2024-01-05T09:00:00+09:00', total_price: 9, user_name: 'Kim' };
  await call('POST', '/v1/orders', order);
  // With plain node, from a folder of strangers, with nothing but its three variables.
  const env = { REVIEW_API_BASE_URL: url, REVIEW_API_CLIENT_ID: 'demo', REVIEW_API_CLIENT_SECRET: 'demo' };
  const { stdout, stderr } = await promisify(execFile)(process.execPath, [example, order.code], {
    env,
    cwd: tmpdir(),
  });
  expect(stderr).toBe('');
  expect(stdout).toContain(`reviews by score: { '5': 2, none: 1 }`);
  expect(stdout).toContain(`code: '${order.code}'`);
  expect(stdout).toContain(`username: 'Kim'`);
});

test('the page on the client shows the example as it is', async () => {
  const [page, code] = await Promise.all([
    readFile(join(root, 'src', 'review-api', 'README.md'), 'utf8'),
    readFile(example, 'utf8'),
  ]);
  expect(page).toContain(`\`\`\`ts\n${code}\`\`\`\n`);
});
