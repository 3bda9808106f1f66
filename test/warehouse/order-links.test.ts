import { beforeEach, expect, test } from 'vitest';
import { discardDeadLetters } from '../../src/warehouse/dead-letters.ts';
import {
  dueOrders,
  recordUnreadable,
  settleGone,
  waitingForGrades,
  waitingLines,
} from '../../src/warehouse/orders/due-orders.ts';
import { absenceSummary, absentOrders, knownOrders } from '../../src/warehouse/orders/known-orders.ts';
import { alikeOrders, makeAlikeDue } from '../../src/warehouse/orders/order-links.ts';
import { openTestWarehouse } from '../harness/warehouse.ts';

const { ask, warehouse } = await openTestWarehouse();
beforeEach(() => ask('truncate sync.order_links cascade'));

test('all orders that are due are read, page by page, and none whose time has not come', async () => {
  await ask(`
    insert into sync.order_links (order_code, failed_pushes, due_at)
      select 'F' || n, 5, now() - n * interval '1 minute' from generate_series(1, 2500) n;
    insert into sync.order_links (order_code, due_at, failed_pushes) values
      ('later', now() + interval '1 minute', 1), ('to be looked at', now() + interval '1 hour', 0), ('never', null, 0);
    insert into sync.order_links (order_code, lease_owner, lease_expires_at) values
      ('dead', 'a', now() - interval '1 day'), ('leased', 'b', now() + interval '1 day');
    insert into sync.product_links (product_code, product_id) values ('known', 7);
    insert into sync.order_links (order_code, waiting_lines) values
      ('product known', '{"1": "known", "2": "known"}'), ('product unknown', '{"1": "unknown"}');
    insert into sync.user_grade_links (user_grade_code, user_grade_id, fingerprint) values ('gold', 1, '');
    insert into sync.order_links (order_code, user_grade_code, user_grade_id) values
      ('grade known', 'gold', null), ('grade made again', 'gold', 9), ('grade sent', 'gold', 1),
      ('grade unknown', 'silver', null), ('grade unlinked', 'silver', 9)`);
  const read = async (isAnyTime: boolean) => {
    const codes: string[] = [];
    for (;;) {
      const before = new Date().toISOString();
      const page = await dueOrders(warehouse.db, { before, isAnyTime, after: codes.at(-1) ?? '', limit: 1000 });
      if (page.length === 0) return codes.toSorted();
      codes.push(...page);
    }
  };
  const failed = Array.from({ length: 2500 }, (_, index) => `F${index + 1}`);
  const others = ['dead', 'leased', 'product known', 'grade known', 'grade made again'];
  expect(await read(false)).toEqual([...failed, ...others].toSorted());
  expect(await read(true)).toEqual([...failed, ...others, 'later'].toSorted());
});

test('of the lines that wait the one that has waited longest is named', async () => {
  await ask(`insert into sync.order_links (order_code, waiting_lines, waiting_since) values
    ('A', '{"1": "P1", "2": "P2"}', '2026-03-02'), ('B', '{"1": "P1"}', '2026-03-01Z'), ('C', null, null)`);
  expect(await waitingLines(warehouse.db)).toEqual({
    lines: 3,
    orders: 2,
    oldest: { orderCode: 'B', lineCode: '1', productCode: 'P1', since: new Date('2026-03-01Z') },
  });
});

test('an order that is gone or cannot be read keeps only the lease of a living process', async () => {
  const fault = { kind: 'order', reason: 'code is empty', payload: {} } as const;
  const unreadable = ['broken off', 'leased'].map((code) => ({ ...fault, key: code, orderCode: code }));
  for (const [what, work, due] of [
    ['cannot be read', () => recordUnreadable(warehouse.db, unreadable, [0]), ['broken off', 'failed', 'leased']],
    ['is gone', () => settleGone(warehouse.db, ['failed', 'broken off', 'leased']), ['leased']],
  ] as const) {
    await ask(`truncate sync.order_links cascade;
      insert into sync.order_links (order_code, due_at, user_grade_code, waiting_lines, waiting_since)
        values ('failed', now(), 'silver', '{"1": "P1"}', now());
      insert into sync.order_links (order_code, lease_owner, lease_expires_at) values
        ('broken off', 'a', now() - interval '1 second'), ('leased', 'b', now() + interval '1 minute')`);
    await work();
    const codes = async (where: string) =>
      (await ask(`select order_code from sync.order_links where ${where} order by 1`)).map((row) => row.order_code);
    expect([what, await codes('lease_owner is not null')]).toEqual([what, ['leased']]);
    expect([what, await codes('due_at is not null or lease_owner is not null')]).toEqual([what, due]);
  }
  expect(await waitingForGrades(warehouse.db)).toMatchObject({ orders: 0 });
  expect(await waitingLines(warehouse.db)).toMatchObject({ orders: 0 });
});

test('an order that cannot be read is read again after each of the distances in turn', async () => {
  const fault = { kind: 'order', key: 'A', orderCode: 'A', reason: 'code is empty', payload: {} } as const;
  const minutes = [];
  for (let failures = 1; failures <= 4; failures += 1) {
    await recordUnreadable(warehouse.db, [fault], [0, 600_000, 1_200_000]);
    const wait = 'round(extract(epoch from due_at - now()) / 60)::integer';
    minutes.push(...(await ask(`select ${wait} as n from sync.order_links`)));
  }
  expect(minutes).toEqual([{ n: 0 }, { n: 10 }, { n: 20 }, { n: 20 }]);
});

test('an order that was never pushed or never accepted is not known; all others are', async () => {
  await ask(`insert into sync.order_links (order_code, ordered_at, contact)
    select n::text, '2026-03-01', case when n > 0 then 'allowed' end from generate_series(0, 2000) n`);
  await ask(`insert into sync.order_links (order_code, ordered_at, contact, pushed_at, failed_pushes)
    values ('refused', '2026-03-01', 'allowed', now(), 1)`);
  const known = (await Array.fromAsync(knownOrders(warehouse.db, {}))).flat();
  expect(known.toSorted()).toEqual(Array.from({ length: 2000 }, (_, n) => `${n + 1}`).toSorted());
});

test('orders of the week before a rescan stay absent, older ones do not', async () => {
  await ask(`insert into sync.order_links (order_code, ordered_at, absent_since)
    select n::text, timestamptz '2026-03-01Z' + n * interval '1 day', now() - n * interval '5 hours' from generate_series(0, 8) n`);
  const absent = await absentOrders(warehouse.db, '2026-03-10T00:00:00Z');
  const waited = (code: string) => ({ code, hasWaited: Number(code) >= 5, isNewest: true });
  expect(absent).toEqual(['2', '3', '4', '5', '6', '7', '8'].map(waited));
  expect(await absenceSummary(warehouse.db)).toEqual({ orders: 7, examples: ['8', '7', '6', '5', '4'] });
});

test('an order of the same code goes before while something of it is left, or masked', async () => {
  // The others were begun by a push. `settled`: it has left the shop.
  const states = [
    ['known', `'hash', null, null`],
    ['due', `null, now(), null`],
    ['leased', `null, null, 'a'`],
    ['masked', `null, null, null`],
    ['settled', `null, null, null`],
    ['with a sub-order', `null, null, null`],
    ['with one pending', `null, null, null`],
    ['not begun', `null, now(), null`],
  ];
  for (const [state = '', columns = ''] of states) {
    const contact = state === 'masked' ? `'forgotten'` : state === 'not begun' ? 'null' : `'allowed'`;
    await ask(`insert into sync.order_links (order_code, contact, fingerprint, due_at, lease_owner)
      values ('${state}', ${contact}, ${columns})`);
  }
  await ask(`insert into sync.sub_order_links (order_code, line_code, sub_order_id, content, is_ours)
    values ('with a sub-order', '1', 1, '{}', true), ('with one pending', '1', null, '{}', true)`);
  const asked = states.map(([state = '']) => state.toUpperCase());
  const before = (await alikeOrders(warehouse.db, asked)).map(({ code }) => code);
  expect(before.sort()).toEqual(['due', 'known', 'leased', 'masked', 'with a sub-order']);
  await ask(`insert into sync.order_links (order_code) values ('KNOWN'), ('other')`);
  await ask('update sync.order_links set due_at = null');
  await makeAlikeDue(warehouse.db, 'KNOWN', ['known']);
  expect(await ask('select order_code from sync.order_links where due_at is not null')).toEqual([
    { order_code: 'known' },
  ]);
});

test('a dead letter that has closed cannot be discarded: its record was synced', async () => {
  const [{ id = 0 } = {}] = await ask<{ id: number }>(`
    insert into sync.dead_letters (kind, key, reason, payload, resolved_at)
    values ('order', 'A', 'why', '{}', now()) returning id::integer`);
  expect(await discardDeadLetters(warehouse.db, [id])).toBe(0);
});
