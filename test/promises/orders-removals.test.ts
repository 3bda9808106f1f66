import { expect } from 'vitest';
import { allowance } from '../../src/orders/limits.ts';
import { takeRemovals } from '../../src/warehouse/orders/removal-allowance.ts';
import { line, type OrderWorld, order, orders, orderTest as test } from '../harness/order-world.ts';

/** As after so many removals at this moment. */
const useUpAllowance = (world: OrderWorld, removals: number = allowance.perDay) =>
  world.warehouse('update sync.settings set removals_taken_at = array_fill(now(), array[$1::integer])', [removals]);

/** As if the removals so far had been made so much earlier. */
const removalsWere = (world: OrderWorld, ago: string) =>
  world.warehouse(`update sync.settings
    set removals_taken_at = array(select at - interval '${ago}' from unnest(removals_taken_at) as at)`);

const subOrders = 'select count(*)::integer as n from reference_service.sub_orders';
const touch = 'update o set updated_at = now()';

test('as many removed lines go as the allowance reaches, all of an order or none', async ({ world }) => {
  await world.place(...orders(11, (n) => (n === 9 ? 8 : 2)));
  await world.sync();
  await useUpAllowance(world, allowance.perDay - 5);
  // The six lines of O9 are more than the allowance. O10 loses all its lines, and a line of O11 its code.
  await world.shop(`create table kept as select * from l;
    delete from l where line_code::integer > 2 or order_code = 'O10' or (order_code not in ('O9', 'O11') and line_code = '2');
    update l set line_code = '' where order_code = 'O11' and line_code = '2'; ${touch}`);
  const counts = { orders_pushed: 11, orders_held: 5, removals_held: 11, sub_orders_removed: 5 };
  const error = /11 removals of orders and lines held back.*review-sync sync orders --allow-removals/;
  const report = { outcome: 'incomplete', counts, error: expect.stringMatching(error) };
  expect(await world.json('sync orders')).toMatchObject(report);
  expect(await world.atService(subOrders)).toEqual([{ n: 23 }]);
  const letters = await world.openDeadLetters();
  expect(letters.map(({ kind }) => kind)).toEqual([...Array(5).fill('order'), 'order_line']);
  for (const { reason } of letters.slice(0, 5)) expect(reason).toContain('--allow-removals');
  const reasonOf = (code: string) => letters.find(({ key }) => key === code)?.reason;
  expect(reasonOf('O9')).toMatch(/^6 of its sub-orders are not removed .* the removals of 24 hours are used up/);
  expect(reasonOf('O10')).toMatch(/^the shop shows no line of the order any more, .* has 2 of its sub-orders/);
  await world.ends(1, 'verify orders --repair');
  expect(await world.atService(subOrders)).toEqual([{ n: 23 }]);
  await world.shop(`delete from l where order_code in ('O10', 'O11');
    insert into l select * from kept where order_code in ('O10', 'O11')`);
  // Held back twice, they are to be tried again in minutes, and the shop has no change that was not read.
  await world.shop(`update o set updated_at = now() - interval '1 day'`);
  await world.ends(0, 'sync orders --allow-removals');
  expect(await world.atService(subOrders)).toEqual([{ n: 14 }]);
  expect(await world.openDeadLetters()).toEqual([]);
});

test('to allow the removals of a backfill mails nobody', async ({ world }) => {
  await world.place(...orders(1, () => 2), order('YOUNG', { created_at: new Date(), user_email: 'kim@example.com' }));
  const backfill = 'backfill orders --from 2000-01-01 --to 2001-12-31';
  await world.shop(`update o set created_at = '2001-06-01' where code = 'O1'`);
  await world.ends(0, backfill);
  await useUpAllowance(world);
  await world.shop(`delete from l where order_code = 'O1' and line_code = '2'`);
  const { error } = await world.json(backfill);
  const [, advised = ''] = /If they are right, run: review-sync (.*? --allow-removals)/.exec(String(error)) ?? [];
  await world.ends(0, advised);
  expect(await world.codesAtService()).toEqual(['O1']);
  expect(await world.atService(subOrders)).toEqual([{ n: 1 }]);
});

test('an order of the service that two codes are linked to is not deleted with one', async ({ world }) => {
  await world.place(order('O1', line('1', 7)));
  await world.sync();
  // The shop wrote the code otherwise, and the service took both for the same order.
  await world.warehouse(
    `insert into sync.order_links (order_code, order_id, contact, fingerprint, sent_fields)
     select 'o1', order_id, contact, fingerprint, '{user_code}' from sync.order_links`,
  );
  await world.shop('update o set deleted_at = now(), updated_at = now()');
  // Neither is it changed: nobody knows whose its contact is.
  expect(await world.sync({ deletes: 'send' })).toMatchObject({ orders_failed: 1 });
  expect(await world.codesAtService()).toEqual(['O1']);
});

test('fifty removals are allowed in 24 hours, or one for twenty orders pushed', async ({ world }) => {
  const { db } = (await world.openApp()).warehouse;
  const take = (...orders: number[]) =>
    takeRemovals(
      db,
      orders.map((removals) => ({ removals, ...allowance })),
    );
  expect(await take(51, 49)).toEqual([false, true]);
  expect(await take(2)).toEqual([false]);
  expect(await take(1, 1)).toEqual([true, false]);
  // Orders whose removals are held back failed: they do not enlarge the allowance that holds them.
  await world.warehouse(`insert into sync.order_links (order_code, pushed_at, failed_pushes)
    select n::text, now() - case when n <= 1200 or n > 5000 then interval '23 hours' else interval '25 hours' end, (n > 5000)::integer
    from generate_series(1, 6200) n`);
  expect(await take(11, 10, 1)).toEqual([false, true, false]);
  await removalsWere(world, '23 hours');
  expect(await take(1)).toEqual([false]);
  await removalsWere(world, '1 day');
  expect(await take(61)).toEqual([false]);
  expect(await take(60)).toEqual([true]);
  expect(await world.warehouse('select cardinality(removals_taken_at) as n from sync.settings')).toEqual([{ n: 60 }]);
});
