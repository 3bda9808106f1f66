import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { runCli } from '../harness/cli.ts';
import { openServe } from '../harness/serve.ts';
import { openWorld, until } from '../harness/world.ts';

test('a shop query that writes changes nothing in the shop, although the user may write', async () => {
  await using world = await openWorld({ shop: 'empty' });
  const folder = await mkdtemp(join(tmpdir(), 'review-sync-queries-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  await world.shop(`create table written (n int);
    create function write_one() returns text language plpgsql as $$ begin insert into written values (1); return 'C'; end $$`);
  await writeFile(
    join(folder, 'orders.sql'),
    'select null::text as code, now() as created_at, now() as updated_at, 1::numeric as total_price where false',
  );
  await writeFile(
    join(folder, 'order_lines.sql'),
    'select null::text as order_code, null::text as line_code, 1::bigint as product_id, 1::numeric as price where false',
  );
  await writeFile(join(folder, 'categories.sql'), `select write_one() as code, 'name'::text as name`);
  const end = await runCli(['sync', 'catalog'], { ...world.environment, SHOP_SQL_DIR: folder });
  expect(end.stderr).toMatch(/25006|read-only/);
  expect(await world.shop('select * from written')).toEqual([]);
});

test('a webhook that could not be applied a hundred times still waits, and nothing gives it up', async () => {
  const secret = 'a-secret-part-of-the-path';
  await using serve = await openServe({ WEBHOOK_SECRET: secret });
  const { world } = serve;
  world.service.setFaults({ failRate: 1 });
  await world.warehouse(
    `insert into sync.webhook_inbox (body, size, attempts) values ('[{"brand_id": 1, "reviews": [{"id": 1}]}]', 1, 100)`,
  );
  await until(async () => {
    const [row] = await world.warehouse<{ attempts: number }>('select attempts from sync.webhook_inbox');
    return (row?.attempts ?? 0) > 100;
    // The waits of the client for one request add up to half a minute.
  }, 60);
  expect(await world.warehouse('select from sync.webhook_inbox where applied_at is null')).toHaveLength(1);
});
