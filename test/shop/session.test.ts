import { mkdir } from 'node:fs/promises';
import { Socket } from 'node:net';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { describeWithHint } from '../../src/base/errors.ts';
import { isTransient } from '../../src/base/lost-connections.ts';
import { openShop, type Shop } from '../../src/shop/index.ts';
import { createDatabase, query } from '../harness/database.ts';
import { orderShopQueries } from '../harness/order-world.ts';

/** A Postgres shop with the order A, and B without date. */
async function shopOf(orders: string) {
  const url = await createDatabase();
  await query(url, `create table o as values ('A', now()), ('B', null)`);
  const dated = 'select column1 as code, column2 as created_at, column2 as updated_at, 1::numeric as total_price';
  const sqlDir = await orderShopQueries({
    orders: `${dated}${orders}`,
    order_lines: `select column1 as order_code, '1' as line_code, 7 as product_id, 1::numeric as price from o`,
  });
  const open = (): Shop => {
    const shop = openShop({ url, sqlDir, connections: 1, timeZone: undefined });
    onTestFinished(() => shop.close());
    return shop;
  };
  return { url, sqlDir, open };
}

test('every reading has a time limit of 30 s, and a shorter one of the shop holds', async () => {
  const { url, open } = await shopOf(`, current_setting('statement_timeout') as user_name,
    current_setting('transaction_read_only') as store_name, current_setting('lock_timeout') as user_code,
    current_setting('transaction_isolation') as user_phone from o`);
  const silence = vi.spyOn(Socket.prototype, 'setTimeout');
  const shop = open();
  expect(await shop.keylessOrders()).toMatchObject([{ code: 'B', user_name: '30s', store_name: 'on' }]);
  // An order and its lines are read as of one moment.
  const order = { code: 'A', user_name: '30s', store_name: 'on', user_code: '5s', user_phone: 'repeatable read' };
  expect(await shop.orders(['A'])).toMatchObject([{ order }]);
  expect(silence.mock.calls.map(([ms]) => ms)).toContain(45_000);
  for (const [own, shown] of Object.entries({ '7s': '7s', '2min': '30s' })) {
    await query(url, `alter database ${new URL(url).pathname.slice(1)} set statement_timeout = '${own}'`);
    expect(await open().orders(['A'])).toMatchObject([{ order: { user_name: shown } }]);
  }
});

test('an error of a lock names the shop, and may pass by itself', async () => {
  const { url, sqlDir, open } = await shopOf(' from o where locked()');
  // As a lock that is waited for in vain, which takes five seconds.
  await query(
    url,
    `create function locked() returns boolean stable language plpgsql as $$
    begin raise lock_not_available; end $$`,
  );
  const shop = open();
  const error: unknown = await shop.orders(['A']).catch((thrown: unknown) => thrown);
  expect(describeWithHint(error)).toMatch(
    /^The shop database cannot be read: another session holds a lock on the table \(.*\) → let it finish/,
  );
  expect(isTransient(error)).toBe(true);
  // A file that cannot be read is not a file that is absent.
  await mkdir(join(sqlDir, 'categories.sql'));
  await expect(shop.catalog('categories')).rejects.toThrow(/categories\.sql cannot be read/);
});
