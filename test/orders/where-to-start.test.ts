import { expect } from 'vitest';
import { concludeChangedOrders, nextChangedOrders, planChangedOrders } from '../../src/orders/which/changed-orders.ts';
import type { Shop } from '../../src/shop/index.ts';
import { advanceCursor, readCursor } from '../../src/warehouse/runs/cursors.ts';
import { orderTest as test } from '../harness/order-test.ts';
import type { OrderWorld } from '../harness/order-world.ts';

const options = { lookbackMinutes: 10, batchSize: 1, isAnyTime: false };

test.for([
  [
    'at the cursor minus the lookback',
    '2026-03-01T12:05:00Z',
    '2026-03-01T11:58:00.123456Z',
    '2026-03-01T11:48:00.123Z',
  ],
  [
    'there however long ago the last run was',
    '2026-03-09T23:00:00Z',
    '2026-03-01T11:58:00Z',
    '2026-03-01T11:48:00.000Z',
  ],
  [
    'at the shop’s clock minus the lookback, where that was set back',
    '2026-03-01T11:05:00Z',
    '2026-03-01T11:58:00Z',
    '2026-03-01T10:55:00.000Z',
  ],
  ['at the beginning without a cursor', '2026-03-01T12:05:00Z', undefined, '-infinity'],
] as const)('a run starts %s', async ([, shopNow, cursor, start], { world }) => {
  const { shop, warehouse } = await world.openApp();
  if (cursor) await advanceCursor(warehouse.db, 'orders', { at: cursor, readTo: cursor });
  const asked: string[] = [];
  const watched: Shop = {
    ...shop,
    now: async () => shopNow,
    changedSince(after, size) {
      asked.push(after.at);
      return shop.changedSince(after, size);
    },
  };
  await planChangedOrders({ shop: watched, db: warehouse.db }, options);
  expect(asked).toEqual([start]);
});

/**
 * The cursor after a run whose pages of changes show these dates, and how many pages it left unread. Undefined: a page
 * without a change.
 */
async function cursorAfter(world: OrderWorld, shopNow: string, pages: readonly (string | undefined)[]) {
  const { shop: whole, warehouse } = await world.openApp();
  const left = pages.map((at, page) => ({
    keys: at === undefined ? [] : [{ at, code: `A${page}` }],
    ...(page + 1 < pages.length && { next: { at: at ?? '', code: `A${page}` } }),
  }));
  const shop: Shop = { ...whole, now: async () => shopNow, changedSince: async () => left.shift() as (typeof left)[0] };
  const deps = { shop, db: warehouse.db };
  let { state } = await planChangedOrders(deps, options);
  for (let next: Awaited<ReturnType<typeof nextChangedOrders>>; ; { state } = next) {
    next = await nextChangedOrders(deps, state, options);
    expect(await readCursor(warehouse.db, 'orders')).toBeUndefined();
    if (!next) break;
  }
  await concludeChangedOrders(deps, state);
  return [(await readCursor(warehouse.db, 'orders'))?.at, left.length];
}

test('the cursor goes to the newest change of all pages, at the end of the run', async ({ world }) => {
  const pages = ['2026-03-01T11:00:00Z', '2026-03-01T12:00:00Z'];
  // The last page is empty where the changes fill the others; orders that are due follow.
  await world.warehouse(`insert into sync.order_links (order_code, due_at) values ('D', now() - interval '1 hour')`);
  expect(await cursorAfter(world, '2026-03-01T12:05:00Z', [...pages, undefined])).toEqual([pages[1], 0]);
});

test('changes that are dated in the shop’s future are read a page after the first, and move the cursor to the shop’s clock', async ({
  world,
}) => {
  const now = '2026-03-01T12:05:00Z';
  const ahead = ['2026-03-03T12:00:00Z', '2026-03-03T13:00:00Z', '2026-03-03T14:00:00Z'];
  expect(await cursorAfter(world, now, ['2026-03-01T12:00:00Z', ...ahead])).toEqual([now, 1]);
});

test('a run that meets no change leaves the cursor where it is, and says when it looked', async ({ world }) => {
  const { shop, warehouse } = await world.openApp();
  const deps = { shop, db: warehouse.db };
  const cursor = { at: '2026-03-01T11:00:00Z', readTo: '2026-03-01T11:05:00Z' };
  await advanceCursor(warehouse.db, 'orders', cursor);
  const { state } = await planChangedOrders(deps, options);
  await concludeChangedOrders(deps, state);
  expect(await readCursor(warehouse.db, 'orders')).toEqual({ at: cursor.at, readTo: state.startedAt });
});
