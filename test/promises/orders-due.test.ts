import { expect } from 'vitest';
import { line, order, orderTest } from '../harness/order-world.ts';

/** Orders that are due although the shop did not change them: one run pushes all, however many batches they fill. */

const test = orderTest.extend('worldOptions', {
  environment: { ORDER_BATCH_SIZE: '10', ORDER_OVERLAP_MINUTES: '10' },
});

const aYearAgo = new Date(Date.now() - 365 * 86_400_000);
const codes = (prefix: string, count: number) => Array.from({ length: count }, (_, n) => `${prefix}${n}`);

test('orders that wait for a product or a grade are all pushed once both are known', async ({ world }) => {
  const [products, grades] = [codes('P', 25), codes('G', 25)];
  await world.place(
    ...products.map((code) => order(code, { updated_at: aYearAgo }, line('1', 'rare'))),
    ...grades.map((code) => order(code, { updated_at: aYearAgo })),
    order('NEWEST', { updated_at: new Date(Date.now() - 60_000) }),
  );
  await world.shop(`alter table o add column user_grade_code text;
    update o set user_grade_code = 'gold' where code like 'G%'`);
  const sync = () => world.run('sync-orders');
  expect((await sync()).counts).toMatchObject({ lines_waiting: 25, orders_waiting_for_grade: 25 });

  const [grade] = await world.atService<{ id: number }>(
    `insert into reference_service.user_grades (name, created_at, updated_at) values ('Gold', now(), now()) returning id::integer`,
  );
  await world.warehouse(
    `insert into sync.user_grade_links (user_grade_code, user_grade_id, fingerprint) values ('gold', $1, '')`,
    [grade?.id],
  );
  await world.warehouse(`insert into sync.product_links (product_code, product_id) values ('rare', 9)`);
  const { outcome, counts } = await sync();
  expect({ outcome, ...counts }).toMatchObject({ outcome: 'done', orders_pushed: 50, lines_waiting: 0 });
  expect(counts).not.toHaveProperty('orders_waiting_for_grade');
  expect(
    await world.atService(`select count(*) filter (where user_grade_id = ${grade?.id})::integer as grades,
      (select count(*)::integer from reference_service.sub_orders where product_id = 9) as lines
      from reference_service.orders`),
  ).toEqual([{ grades: 25, lines: 25 }]);
  const status = await world.cli('status');
  expect(status.stdout).not.toMatch(/order lines of|member grade/);
  expect((await sync()).counts.orders_pushed ?? 0).toBe(0);
});

test('dead-letters retry retries all, and is incomplete if a line cannot be read', async ({ world }) => {
  const refused = codes('R', 25);
  await world.place(...refused.map((code) => order(code, { updated_at: aYearAgo }, line('1', 7))));
  await world.place(order('A', { total_price: -1e15 }, line('1', 7), line('2', 7, { price: -1e15 })), order('B'));
  world.serviceRule(({ form }) => (refused.includes(form.get('code') ?? '') ? { status: 422 } : 'pass'));
  expect((await world.cli('sync orders')).status).toBe(1);
  expect(await world.openDeadLetters()).toHaveLength(26);
  world.serviceRule(() => 'pass');
  await world.shop(`update o set total_price = 7 where code = 'A'`);
  const retry = (...ids: string[]) => world.cli('dead-letters retry', ...ids);
  const [ofA] = await world.warehouse(`select id::text from sync.dead_letters where key = 'A'`);
  const stdout = expect.stringMatching(/^1 of 1 record: .* Open: 26;/);
  expect(await retry(String(ofA?.id))).toMatchObject({ status: 1, stdout });
  const rest = expect.stringMatching(/^25 of 26 records: synced, or gone from the shop\. Open: 1;/);
  expect(await retry()).toMatchObject({ status: 1, stdout: rest });
  expect(await world.openDeadLetters()).toMatchObject([{ kind: 'order_line', key: 'A/2' }]);
  await world.shop('update l set price = 7');
  expect(await retry()).toMatchObject({ status: 0 });
  expect(await world.atService('select from reference_service.sub_orders')).toHaveLength(27);
});
