import { describe, expect, test } from 'vitest';
import type { Shop } from '../../src/shop/index.ts';
import type { OrderPosition } from '../../src/shop/session.ts';
import { openTables, type ShopServer, type ShopTables, shopServers } from '../harness/shop-servers.ts';

const queries = {
  orders: 'select code, created_at, updated_at, total_price, user_name from o',
  order_lines: 'select order_code, line_code, product_id, price, product_options from l',
  changed_orders: 'select code, updated_at as changed_at from o where updated_at >= :since',
};

async function tables({ create, types }: ShopServer, date: 'instant' | 'local') {
  const database = await create();
  await database.run(`create table o (code ${types.exact}, created_at ${types[date]}, updated_at ${types[date]},
    total_price ${types.amount}, user_name varchar(50))`);
  await database.run(`create table l (order_code ${types.exact}, line_code varchar(20), product_id bigint,
    price ${types.amount}, product_options ${types.json})`);
  return database;
}

/** Orders with these codes, a minute apart from 2026-03-01 00:01:00 on. */
async function addOrders(database: ShopTables, codes: readonly string[], atMinute = (n: number) => n + 1) {
  const rows = codes.map((code, n) => {
    const at = new Date(Date.UTC(2026, 2, 1, 0, atMinute(n))).toISOString().slice(0, 19).replace('T', ' ');
    return `('${code}', '${at}', '${at}', 10.50, 'Kim')`;
  });
  await database.run(`insert into o values ${rows.join(', ')}`);
}

async function walked(read: (after: OrderPosition) => ReturnType<Shop['orderCodes']>): Promise<string[]> {
  const codes: string[] = [];
  for (let after: OrderPosition = { at: '-infinity', code: '' }; ; ) {
    const page = await read(after);
    codes.push(...page.keys.map(({ code }) => code));
    if (page.next === undefined) return codes;
    // A position goes through JSON: it is kept in the queue and in the warehouse.
    after = JSON.parse(JSON.stringify(page.next));
  }
}

describe.each(shopServers)('$name', (server) => {
  test('orders are read by code with their lines, every value as the database writes it', async () => {
    const database = await tables(server, 'local');
    await database.run(
      `insert into o values ('A', '2026-03-01 10:00:00.000004', '2026-03-01 11:00:00', 1234567890.10, 'Kim''s "x" \\\\')`,
    );
    await database.run(
      `insert into l values ('A', '2', 8, 3, null), ('A', '1', 9007199254740993, 0.10, '{"Size": "L"}')`,
    );
    const shop = await openTables(database, queries, 'Asia/Seoul');
    const [order, ...more] = await shop.orders(['A', 'B', "C' or 1 = 1"]);
    expect(more).toEqual([]);
    expect(order?.order).toMatchObject({
      code: 'A',
      created_at: '2026-03-01T01:00:00.000004Z',
      updated_at: '2026-03-01T02:00:00.000000Z',
      total_price: '1234567890.10',
    });
    expect(order?.lines).toMatchObject([
      { line_code: '1', product_id: '9007199254740993', price: '0.10' },
      { line_code: '2', product_id: '8', price: '3.00', product_options: null },
    ]);
    expect(JSON.parse(order?.lines[0]?.product_options ?? '')).toEqual({ Size: 'L' });
  });

  test.each(['instant', 'local'] as const)(
    'a walk by date (%s) finds every order once, at every size of page',
    async (kind) => {
      const database = await tables(server, kind);
      const codes = Array.from({ length: 30 }, (_, n) => `O${n}`);
      // Five orders of each moment: pages end between orders of one moment.
      await addOrders(database, codes, (n) => Math.floor(n / 5));
      // The feed shows each change twice, as one of an order and of its line.
      const changed_orders = `${queries.changed_orders} union all ${queries.changed_orders}`;
      const shop = await openTables(database, { ...queries, changed_orders }, 'Asia/Seoul');
      for (const size of [1, 4, 50]) {
        for (const axis of ['updated', 'created', 'code'] as const) {
          const found = await walked((after) => shop.orderCodes({ axis, after, size }));
          expect([size, axis, found.length, found.toSorted()]).toEqual([size, axis, 30, codes.toSorted()]);
        }
        const since = kind === 'local' ? '2026-02-28T15:03:00.000000Z' : '2026-03-01T00:03:00.000000Z';
        const byCode = await walked(({ code }) =>
          shop.orderCodes({ axis: 'updated', after: { at: since, code }, size, inCodeOrder: true }),
        );
        expect(byCode.toSorted()).toEqual(codes.slice(15).toSorted());
      }
    },
  );

  test('a page of changes has each code once, with its newest change, the newest last', async () => {
    const database = await tables(server, 'instant');
    await addOrders(database, ['A', 'B', 'A'], (n) => n);
    const shop = await openTables(database, queries, 'UTC');
    const { keys } = await shop.orderCodes({ axis: 'updated', after: { at: '-infinity', code: '' }, size: 9 });
    expect(keys.map(({ at, code }) => `${code} ${at.slice(14, 16)}`)).toEqual(['B 01', 'A 02']);
  });
});
