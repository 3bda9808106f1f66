import { expect, test } from 'vitest';
import { visible, visibleJson } from '../../src/base/visible.ts';
import { openOrderWorld } from '../harness/order-world.ts';

/** Sets the title of the window, moves the cursor, turns the direction of text, ends a line, and a C1 control. */
const hostile = 'Kim\u001b]0;owned\u0007\u001b[2J\u061c\u200e\u200f\u2028\u202e\u2066\u2069\u009bmA\r';
const harmful = /[^\P{Cc}\n\t]|[\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/u;

test('control and bidi characters of a customer reach no terminal', async () => {
  await using world = await openOrderWorld();
  await world.shop(`insert into o (code, user_code) values ('A', '${hostile}')`);
  await world.shop(
    `insert into l (order_code, line_code, product_id, status, invoice) values ('A', '1', 1, '${hostile}', '${hostile}')`,
  );
  await world.warehouse(
    `insert into warehouse.reviews (id, created_at, updated_at, user_name, message) values (5, now(), now(), $1, $1)`,
    [hostile],
  );
  await world.warehouse(
    `insert into sync.dead_letters (kind, key, reason, payload) values ('review', '6', $1, jsonb_build_object('user_name', $1::text))`,
    [hostile],
  );
  const [deadLetter] = await world.warehouse<{ id: string }>('select id from sync.dead_letters');
  const commands = [
    ['preview', 'order', 'A'],
    ['explain', 'order', 'A'],
    ['explain', 'review', '5'],
    ['explain', 'order', hostile],
    ['dead-letters'],
    ['dead-letters', 'show', String(deadLetter?.id)],
    ['forget', 'user', hostile],
    [hostile],
  ];
  let shown = 0;
  for (const command of commands) {
    for (const args of [command, [...command, '--json']]) {
      const { stdout, stderr } = await world.cli(...args);
      expect([args, stdout.match(harmful), stderr.match(harmful)]).toEqual([args, null, null]);
      if (stdout.includes('\\u{1b}]0;owned')) shown += 1;
      if (args.at(-1) === '--json' && stdout !== '') JSON.parse(stdout);
    }
  }
  expect(shown).toBeGreaterThanOrEqual(2);
});

test('a line feed in a value forges no line of a command', async () => {
  await using world = await openOrderWorld();
  const forged = 'Kim\nAll is well.';
  await world.shop(`insert into o (code, user_code) values ('A', $1), ('B', $1)`, [forged]);
  for (const code of ['A', 'B'])
    await world.shop('insert into l (order_code, line_code, product_id, status, invoice) values ($1, $2, 1, $2, $2)', [
      code,
      forged,
    ]);
  await world.shop(`update l set product_id = null, product_code = $1 where order_code = 'B'`, [forged]);
  expect(await world.cli('sync', 'orders')).toMatchObject({ status: 0 });
  await world.shop(`update o set user_code = user_code || '!'`);
  await world.warehouse(`insert into sync.dead_letters (kind, key, reason, payload) values ('order', $1, $1, '{}')`, [
    forged,
  ]);
  let shown = 0;
  for (const args of [
    ['preview', 'order', 'A'],
    ['explain', 'order', 'A'],
    ['explain', 'order', 'B'],
    ['verify', 'orders'],
    ['sync', 'orders', '--dry-run', '--diff'],
    ['backfill', 'orders', '--dry-run', '--diff'],
    ['dead-letters'],
    ['status'],
  ]) {
    const { stdout, stderr } = await world.cli(...args);
    if (`${stdout}${stderr}`.includes('Kim\\u{a}All is well.')) shown += 1;
    expect([args, /^All is well/m.test(`${stdout}\n${stderr}`)]).toEqual([args, false]);
  }
  expect(shown).toBeGreaterThanOrEqual(6);
});

test('JSON with escaped characters stands for the same text', () => {
  expect(JSON.parse(visibleJson(JSON.stringify({ name: hostile })))).toEqual({ name: hostile });
  expect(visible('a\n\tb \u{1f600} 민지')).toBe('a\n\tb \u{1f600} 민지');
  expect(visible('\u001b\u202e')).toBe('\\u{1b}\\u{202e}');
});
