import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { readFile, stat, writeFile } from 'node:fs/promises';
import { request } from 'node:http';
import { join } from 'node:path';
import { parseEnv, promisify } from 'node:util';
import { expect, onTestFinished } from 'vitest';
import { runCli, startCli } from '../harness/cli.ts';
import { query } from '../harness/database.ts';
import { temporaryFolder } from '../harness/folder.ts';
import { line, order, orderTest as test } from '../harness/order-world.ts';

/** The server has a random password, in a folder that no other user can enter. */
async function isClosedToOthers(folder: string, url: string): Promise<void> {
  const { password } = new URL(url);
  expect(password).toMatch(/^[0-9a-f]{48}$/);
  expect(await readFile(join(folder, 'password'), 'utf8')).toBe(password);
  expect((await stat(join(folder, 'password'))).mode & 0o777).toBe(0o600);
  expect((await stat(folder)).mode & 0o777).toBe(0o700);
  const known = Object.assign(new URL(url), { password: 'review-sync' });
  await expect(query(known.href, 'select 1')).rejects.toThrow(/password/);
  if (process.getuid?.() !== 0) return;
  const asNobody = { uid: 65534, gid: 65534, cwd: '/' };
  await expect(promisify(execFile)('cat', [join(folder, 'password')], asNobody)).rejects.toThrow(/denied/);
  await expect(promisify(execFile)('ls', [folder], asNobody)).rejects.toThrow(/denied/);
}

test('a trial of an own shop works with the lines that the reference service prints', async ({ world }) => {
  await world.place(
    order('A', { user_email: 'a@example.com' }, line('1', 'P1'), line('2', 'P2')),
    order('B', line('1', 'P2')),
  );
  const { SHOP_DATABASE_URL = '', SHOP_SQL_DIR = '' } = world.environment;
  const cwd = await temporaryFolder(0o755);
  await writeFile(join(cwd, '.env'), `SHOP_DATABASE_URL=${SHOP_DATABASE_URL}\nSHOP_SQL_DIR=${SHOP_SQL_DIR}\n`);
  const options = ['--port', '0', '--products-from-shop', '--time-zone', 'Europe/Berlin'];
  const shared = await temporaryFolder(0o755);
  const service = startCli(['reference-service', ...options], { TMPDIR: shared, HOME: cwd }, cwd);
  onTestFinished(() => service.kill('SIGTERM'));
  await service.says('listens on');
  expect(service.saidSoFar()).toContain('It knows 2 products of the shop.');
  const lines = service.saidSoFar().match(/^ {2}\w+=.*$/gm) ?? [];
  const printed = parseEnv(lines.join('\n')) as Record<string, string>;
  const environment = { ...printed, SHOP_DATABASE_URL, SHOP_SQL_DIR };
  // The trial holds real customers: other users of the machine and pages in a browser do not get at them.
  expect(printed.REVIEW_API_CLIENT_SECRET).toMatch(/^[\w-]{24,}$/);
  const address = `${printed.REVIEW_API_BASE_URL}/openapi.json`;
  const [refused] = await once(request(address, { headers: { host: 'shop.example.com' } }).end(), 'response');
  expect(refused.resume().statusCode).toBe(403);
  await isClosedToOthers(join(cwd, '.review-sync', 'postgres'), printed.WAREHOUSE_DATABASE_URL ?? '');

  expect(await runCli(['migrate'], environment)).toMatchObject({ status: 0 });
  const reviews = await runCli(['sync', 'reviews'], environment);
  expect(reviews).toMatchObject({ status: 0 });
  expect(reviews.stdout).toContain('2 inserted');
  const orders = await runCli(['sync', 'orders', '--json'], environment);
  expect(JSON.parse(orders.stdout)).toMatchObject({ outcome: 'done', counts: { orders: 2, sub_orders_added: 3 } });
  service.kill('SIGTERM');
  expect(await service.ended).toMatchObject({ status: 0 });
});
