import { expect } from 'vitest';
import { line, type OrderWorld, order, orderTest as test } from '../harness/order-world.ts';
import { daysAgo } from '../harness/world.ts';

const atService = (world: OrderWorld) =>
  world.atService<{ code: string }>('select code, user_email as email from reference_service.orders order by code');

/** Orders O0 to O8 of the last days, each with an address and a line, as the service has them. */
async function pushNine(world: OrderWorld): Promise<void> {
  const dated = Array.from({ length: 9 }, (_, n) =>
    order(`O${n}`, { created_at: daysAgo(3 + n), user_email: `old${n}@example.com` }, line('1', 7)),
  );
  await world.place(...dated);
  await world.done('sync-orders');
  world.serviceRule(() => 'pass');
}

/** From now on the codes from O0 on are those of new customers' orders of today. */
const reuse = (world: OrderWorld, codes: number) =>
  world.shop(
    `update o set created_at = now(), updated_at = now(), user_email = 'new@example.com', total_price = 7
     where right(code, 1)::integer < $1`,
    [codes],
  );

test('a number that the shop uses again is a dead letter, and nothing is sent', async ({ openWorld }) => {
  const world = await openWorld({ environment: { ORDER_DELETES: 'send' } });
  await pushNine(world);
  await reuse(world, 2);
  await world.shop(`update o set deleted_at = now() where code = 'O1'`);
  // A corrected zone moves the date of an order by less than a day: it stays the same order.
  await world.shop(`update o set created_at = created_at - interval '14 hours', updated_at = now() where code = 'O2'`);
  const before = await atService(world);
  await world.ends(1, 'sync orders', '2 records could not be synced');
  expect(world.writes().map(({ form }) => form.get('code'))).toEqual(['O2']);

  const [today, before3] = [0, 3].map((days) => daysAgo(days).toISOString().slice(0, 10));
  const reason = expect.stringMatching(`created at ${today}.*pushed before at ${before3}`);
  expect(await world.openDeadLetters()).toMatchObject([{ key: 'O0', reason }, { key: 'O1' }]);
  const others = ['verify orders --repair', 'dead-letters retry', 'backfill orders --with-email', 'sync reconcile'];
  for (const command of others) await world.cli(command);
  await world.says('preview order O0', 'it is another order');
  expect(await atService(world)).toEqual(before);
  expect(world.writes().filter(({ form }) => form.get('code') !== 'O2')).toEqual([]);

  // The row is corrected: the dead letter closes by itself.
  await world.shop(`update o set created_at = $1, updated_at = now() where code = 'O0'`, [daysAgo(3)]);
  await world.cli('dead-letters retry');
  expect(await world.openDeadLetters()).toMatchObject([{ key: 'O1' }]);
});

test('orders of a shop that is numbered again are sent when a person accepts it', async ({ world }) => {
  await pushNine(world);
  await reuse(world, 6);
  await world.place(order('NEW'));
  const before = await atService(world);
  await world.ends(1, 'sync orders');
  const letters = await world.openDeadLetters();
  expect(letters.map(({ key }) => key)).toEqual(['O0', 'O1', 'O2', 'O3', 'O4', 'O5']);
  expect(letters[0]?.reason).toContain('review-sync migrate --same-orders');
  expect((await atService(world)).filter(({ code }) => code !== 'NEW')).toEqual(before);

  await world.ends(0, 'migrate --same-orders', '6 pushed orders had another date');
  await world.cli('dead-letters retry');
  expect(await world.openDeadLetters()).toEqual([]);
  // The dates that were taken over are the identity from now on: the whole shop is another one.
  await world.shop(`update o set created_at = created_at - interval '2 days', updated_at = now() where code <> 'NEW'`);
  await world.ends(1, 'sync orders');
  expect(await world.openDeadLetters()).toHaveLength(9);
});
