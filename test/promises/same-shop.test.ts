import { expect } from 'vitest';
import { requireSameShop, sameShop } from '../../src/app/require-same-shop.ts';
import { openShop } from '../../src/shop/index.ts';
import { ordersOfAllAges } from '../../src/warehouse/orders/known-orders.ts';
import { runCli } from '../harness/cli.ts';
import { createDatabase } from '../harness/database.ts';
import { createOrderShop } from '../harness/order-shop.ts';
import { orderTest as test } from '../harness/order-test.ts';
import type { OrderWorld } from '../harness/order-world.ts';
import { line, order } from '../harness/shop-orders.ts';

const daysAgo = (days: number) => new Date(Date.now() - days * 86_400_000);

/** Orders O0 to O39, one a day, as the service has them. */
async function pushForty(world: OrderWorld): Promise<void> {
  const dated = Array.from({ length: 40 }, (_, n) => order(`O${n}`, { created_at: daysAgo(1 + n) }, line('1', 7)));
  await world.place(...dated);
  await world.sync();
  world.serviceRule(() => 'pass');
}

/** The verdict on the shop of this world. */
async function verdict(world: OrderWorld) {
  const { shop, warehouse } = await world.openApp();
  return sameShop({ shop, db: warehouse.db });
}

test('a shop is recognised by one of a dozen pushed orders of all ages, and by its date', async ({ world }) => {
  expect(await verdict(world)).toBe('unknown');
  await pushForty(world);
  expect(await verdict(world)).toBe('same');
  const asked = (await ordersOfAllAges((await world.openApp()).warehouse.db)).map(({ code }) => Number(code.slice(1)));
  expect(asked).toHaveLength(12);
  expect(asked).toEqual(expect.arrayContaining([0, 1, 2, 37, 38, 39]));
  // One of them in each sixth of the time between.
  for (let sixth = 0; sixth < 6; sixth += 1)
    expect(asked.filter((n) => n >= 2 + sixth * 6 && n <= 8 + sixth * 6).length).toBeGreaterThan(0);

  // An archive of the older half, and a zone that was corrected.
  await world.shop(`delete from o where created_at < now() - interval '20 days'`);
  await world.shop(`update o set created_at = created_at + interval '9 hours'`);
  expect(await verdict(world)).toBe('same');
  await world.shop(`update o set created_at = created_at - interval '2 days'`);
  expect(await verdict(world)).toBe('other');
  // What was never accepted, and what is known to be gone, shows nothing.
  await world.warehouse(`update sync.order_links set order_id = null where order_code <> 'O5'`);
  await world.warehouse(`update sync.order_links set absent_since = now() where order_code = 'O5'`);
  expect(await verdict(world)).toBe('unknown');
});

test('nothing of another shop is sent by a repair or a retry, and doctor says so', async ({ world }) => {
  await pushForty(world);
  const other = await createDatabase();
  await createOrderShop(other);
  const environment = { ...world.environment, SHOP_DATABASE_URL: other };
  await world.warehouse(
    `insert into sync.dead_letters (kind, key, order_code, reason, payload) values ('order', 'X', 'X', 'bad', '{}')`,
  );
  for (const command of ['verify orders --repair', 'dead-letters retry']) {
    const end = await runCli(command.split(' '), environment);
    expect(end).toMatchObject({
      status: 1,
      stderr: expect.stringContaining('none of 12 orders of all ages'),
    });
    expect(end.stderr).toContain('review-sync migrate --same-shop');
  }
  expect((await runCli(['doctor'], environment)).stdout).toContain('none of 12 orders of all ages');
  expect((await world.cli('doctor')).stdout).not.toContain('orders of all ages');
  expect(world.requests().filter(({ path }) => path.startsWith('/v1/orders'))).toEqual([]);
});

test('a person says that a shop without its orders is the same; a third shop is noticed then', async ({ world }) => {
  await pushForty(world);
  await world.shop('delete from o; delete from l');
  expect(await verdict(world)).toBe('other');
  expect(await world.cli('migrate', '--same-shop')).toMatchObject({ status: 0 });
  expect(await verdict(world)).toBe('unknown');
  await world.place(order('NEW', line('1', 7)));
  await world.sync();
  expect(await verdict(world)).toBe('same');
  const third = await createDatabase();
  await createOrderShop(third);
  const { warehouse } = await world.openApp();
  await using shop = openShop({ url: third, sqlDir: world.environment.SHOP_SQL_DIR ?? '', connections: 1 });
  await expect(requireSameShop({ shop, db: warehouse.db })).rejects.toThrow('none of 1 order of all ages');
});
