import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { webhookDeps } from '../../src/background/apply-webhooks.ts';
import { takeInbox } from '../../src/webhooks/apply-inbox.ts';
import { runCli } from '../harness/cli.ts';
import { openWorld } from '../harness/world.ts';

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

test('a webhook that could not be applied a hundred times still waits after the next attempt, and its closed row has no body', async () => {
  // The service refuses every request at once: the client repeats no request for half a minute.
  await using world = await openWorld({ shop: 'empty', environment: { REVIEW_API_CLIENT_SECRET: 'wrong' } });
  const bodies = ['[{"brand_id":1,"reviews":[{"id":7}]}]', 'no JSON'];
  await world.warehouse(
    `insert into sync.webhook_inbox (body, size, brand_ids, attempts) select body, 1, '{1}', 100 from unnest($1::text[]) body`,
    [bodies],
  );
  await (await takeInbox(webhookDeps(await world.openApp())))?.apply();
  expect(
    await world.warehouse(
      `select body, due_at > now() as "isLater", last_error from sync.webhook_inbox where applied_at is null order by body`,
    ),
  ).toEqual(bodies.map((body) => ({ body, isLater: true, last_error: expect.stringMatching(/./) })));
  expect(await world.warehouse('select from sync.dead_letters')).toEqual([]);
  // The body of a closed webhook is deleted at once; its events were stored as a new webhook.
  expect(
    await world.warehouse('select from sync.webhook_inbox where applied_at is not null and body is not null'),
  ).toEqual([]);
});
