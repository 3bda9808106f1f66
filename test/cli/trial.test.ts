import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { request } from 'node:http';
import { join } from 'node:path';
import { parseEnv } from 'node:util';
import { expect, onTestFinished } from 'vitest';
import { runCli, startCli } from '../harness/cli.ts';
import { temporaryFolder } from '../harness/folder.ts';
import { line, order, orderTest as test } from '../harness/order-world.ts';

test('a trial of an own shop works with the lines that the reference service prints', async ({ world }) => {
  await world.place(
    order('A', { user_email: 'a@example.com' }, line('1', 'P1'), line('2', 'P2')),
    order('B', line('1', 'P2')),
  );
  const { SHOP_DATABASE_URL = '', SHOP_SQL_DIR = '' } = world.environment;
  const cwd = await temporaryFolder();
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

  expect(await runCli(['migrate'], environment)).toMatchObject({ status: 0 });
  const reviews = await runCli(['sync', 'reviews'], environment);
  expect(reviews).toMatchObject({ status: 0 });
  expect(reviews.stdout).toContain('2 inserted');
  const orders = await runCli(['sync', 'orders', '--json'], environment);
  expect(JSON.parse(orders.stdout)).toMatchObject({ outcome: 'done', counts: { orders: 2, sub_orders_added: 3 } });
  service.kill('SIGTERM');
  expect(await service.ended).toMatchObject({ status: 0 });
});
