import { expect, onTestFinished, test } from 'vitest';
import { openShop } from '../../src/shop/index.ts';
import { createDatabase, query } from '../harness/database.ts';
import { createMysqlDatabase, hasMariadb } from '../harness/servers.ts';

async function opened(url: string) {
  const shop = openShop({ url, sqlDir: 'unused', connections: 1, timeZone: 'UTC' });
  onTestFinished(() => shop.close());
  return shop;
}

test('Postgres shows the tables of every schema, and which of them need their schema', async () => {
  const url = await createDatabase();
  await query(
    url,
    'create table plain (a integer, "B" text); create schema other; create table other.plain (c date); create table other.hidden (d date)',
  );
  const shop = await opened(url);
  const { dialect, tables } = await shop.tables();
  expect(dialect).toBe('postgres');
  expect(
    tables.toSorted((a, b) => a.name.localeCompare(b.name) || (a.schema ?? '').localeCompare(b.schema ?? '')),
  ).toEqual([
    { name: 'hidden', columns: ['d'], schema: 'other' },
    { name: 'plain', columns: expect.arrayContaining(['a', 'B']), schema: undefined },
    { name: 'plain', columns: ['c'], schema: 'other' },
  ]);
  expect(await shop.value('select 7 as n union all select 8 order by n')).toBe('7');
  expect(await shop.value('select 1 as one where false')).toBeUndefined();
});

test.skipIf(!hasMariadb)('MariaDB shows the tables of its database', async () => {
  const database = await createMysqlDatabase();
  onTestFinished(() => database.drop());
  await database.query('create table wp_orders (id bigint, Name text); create table wp_other (id int)');
  const shop = await opened(database.url);
  const { dialect, tables } = await shop.tables();
  expect(dialect).toBe('mysql');
  expect(tables.toSorted((a, b) => a.name.localeCompare(b.name))).toEqual([
    { name: 'wp_orders', columns: expect.arrayContaining(['id', 'Name']), schema: undefined },
    { name: 'wp_other', columns: ['id'], schema: undefined },
  ]);
  expect(await shop.value("select 'Asia/Seoul' as zone from dual")).toBe('Asia/Seoul');
  expect(await shop.value('select 1 from wp_orders')).toBeUndefined();
});
