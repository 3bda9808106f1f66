import { execFileSync } from 'node:child_process';
import { expect } from 'vitest';
import { shellWord, visible, visibleJson } from '../../src/base/visible.ts';
import { orderTest as test } from '../harness/order-world.ts';

/** Sets the title of the window, moves the cursor, turns the direction of text, ends a line, and a C1 control. */
const hostile = 'Kim\nAll is well.\u001b]0;owned\u0007\u001b[2J\u061c\u200e\u200f\u2028\u202e\u2066\u2069\u009bmA\r';
const harmful = /[^\P{Cc}\n\t]|[\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/u;

test('control characters of a customer reach no terminal, and forge no line', async ({ world }) => {
  await world.shop(`insert into o (code, user_code) values ('A', $1), ('B', $1)`, [hostile]);
  for (const code of ['A', 'B'])
    await world.shop('insert into l (order_code, line_code, product_id, status, invoice) values ($1, $2, 1, $2, $2)', [
      ...[code, hostile],
    ]);
  await world.shop(`update l set product_id = null, product_code = $1 where order_code = 'B'`, [hostile]);
  expect(await world.cli('sync orders')).toMatchObject({ status: 0 });
  await world.shop(`update o set user_code = user_code || '!'`);
  await world.warehouse(
    `insert into warehouse.reviews (id, created_at, updated_at, user_name, message) values (5, now(), now(), $1, $1)`,
    [hostile],
  );
  const [deadLetter] = await world.warehouse<{ id: string }>(
    `insert into sync.dead_letters (kind, key, reason, payload) values ('review', '6', $1, jsonb_build_object('user_name', $1::text)),
      ('order', $1, $1, '{}') returning id`,
    [hostile],
  );
  let shown = 0;
  for (const command of [
    ...['preview order A', 'explain order A', 'explain order B', 'explain review 5', 'verify orders', 'status'],
    ...['sync orders --dry-run --diff', 'backfill orders --dry-run --diff', 'dead-letters'],
    `dead-letters show ${deadLetter?.id}`,
    ...['explain order |', 'forget user |', '|'],
  ])
    for (const more of [[], ['--json']]) {
      const args = [...command.split(' ').map((one) => (one === '|' ? hostile.replace('\n', ' ') : one)), ...more];
      const { stdout, stderr } = await world.cli(...args);
      const isForged = /^All is well/m.test(`${stdout}\n${stderr}`);
      expect([args, stdout.match(harmful), stderr.match(harmful), isForged]).toEqual([args, null, null, false]);
      if (`${stdout}${stderr}`.includes('Kim\\u{a}All is well.\\u{1b}]0;owned')) shown += 1;
      if (more.length > 0 && stdout !== '') JSON.parse(stdout);
    }
  expect(shown).toBeGreaterThanOrEqual(6);
});

test('JSON with escaped characters stands for the same text', () => {
  expect(JSON.parse(visibleJson(JSON.stringify({ name: hostile })))).toEqual({ name: hostile });
  expect(visible('a\n\tb \u{1f600} 민지')).toBe('a\n\tb \u{1f600} 민지');
  expect(visible('\u001b\u202e')).toBe('\\u{1b}\\u{202e}');
});

test('a command that names a code has the code as one word of the shell', async ({ world }) => {
  for (const code of ['A-1/2.3', '#1001', "it's 7", '$(id)', '주문 1', '`id`;&|<>*?!~"\\', '-1', ''])
    expect(execFileSync('sh', ['-c', `printf '%s|' ${shellWord(code)}`], { encoding: 'utf8' })).toBe(`${code}|`);
  await world.says('forget user #1001', "forget user '#1001' --order <code>");
});
