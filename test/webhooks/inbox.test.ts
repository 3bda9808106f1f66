import { expect, test } from 'vitest';
import { openWarehouse } from '../../src/warehouse/index.ts';
import { takeWebhooks } from '../../src/warehouse/webhook-inbox.ts';
import { createDatabase } from '../harness/database.ts';
import { openServe } from '../harness/serve.ts';
import { until } from '../harness/world.ts';

const secret = 'a-secret-part-of-the-path';

test('a webhook that cannot be applied, whatever is wrong with it, holds back none that waits with it', async () => {
  await using serve = await openServe({ WEBHOOK_SECRET: secret });
  const summary = (id: number) => [{ brand_id: 1, products: [{ id, code: `P-${id}`, reviews_count: 3, score: 4.5 }] }];
  const bodies = [1, 2, 3, 4, 5].map((id) => (id === 3 ? 'no JSON' : JSON.stringify(summary(id))));
  // All due at once, as after the warehouse or the service was away.
  await serve.world.warehouse(
    `insert into sync.webhook_inbox (body, size, brand_ids) select body, 1, '{1}' from unnest($1::text[]) body`,
    [bodies],
  );
  await until(async () => {
    const rated = await serve.world.warehouse('select product_id from warehouse.product_ratings');
    return rated.length === 4;
  });
  const waiting = () =>
    serve.world.warehouse('select body, last_error from sync.webhook_inbox where applied_at is null');
  await until(async () => (await waiting()).length === 1);
  expect(await waiting()).toEqual([{ body: 'no JSON', last_error: expect.stringContaining('JSON') }]);
});

test('a body that is nested deeper than it could be written again is refused, not kept', async () => {
  await using serve = await openServe({ WEBHOOK_SECRET: secret });
  const post = (body: string) =>
    fetch(`${serve.url}/webhooks/${secret}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body,
    });
  const answer = await post(`${'['.repeat(100_000)}${']'.repeat(100_000)}`);
  expect([answer.status, await answer.json()]).toEqual([422, { error: 'expected JSON of at most 50 levels' }]);
  expect(await serve.world.warehouse('select from sync.webhook_inbox')).toEqual([]);
});

test('webhooks that were tried before are taken by themselves, after all new ones', async () => {
  const warehouse = await openWarehouse({ url: await createDatabase('migrated'), connections: 1 });
  await warehouse.pool.query(
    `insert into sync.webhook_inbox (body, size, brand_ids, attempts) values ('old', 1, '{1}', 3), ('new', 1, '{1}', 0), ('newer', 1, '{1}', 0)`,
  );
  const taken = async () => (await takeWebhooks(warehouse.db, 300)).map(({ body }) => body);
  expect([await taken(), await taken(), await taken()]).toEqual([['new', 'newer'], ['old'], []]);
  await warehouse.close();
});
