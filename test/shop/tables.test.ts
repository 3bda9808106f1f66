import { describe, expect, onTestFinished, test } from 'vitest';
import { openShop } from '../../src/shop/index.ts';
import { shopServers } from '../harness/shop-servers.ts';

describe.each(shopServers)('$name', ({ name, create }) => {
  const isPostgres = name === 'Postgres';

  test('the tables of the database are shown, and which of them need their schema', async () => {
    const { url, run } = await create();
    await run(`create table plain (a integer, ${isPostgres ? '"B"' : 'B'} text)`);
    if (isPostgres)
      await run(`drop extension citext; create schema other; create table other.plain (c date);
        create table other.hidden (d date)`);
    else await run('create table hidden (d date)');
    const shop = openShop({ url, sqlDir: 'unused', connections: 1, timeZone: 'UTC' });
    onTestFinished(() => shop.close());
    const { dialect, tables } = await shop.tables();
    expect(dialect).toBe(isPostgres ? 'postgres' : 'mysql');
    const shown = tables.map(({ schema = '', name, columns }) => `${schema} ${name}: ${columns.toSorted()}`);
    const expected = isPostgres ? [' plain: B,a', 'other hidden: d', 'other plain: c'] : [' hidden: d', ' plain: B,a'];
    expect(shown.toSorted()).toEqual(expected);
    expect(await shop.value('select 7 as n union all select 8 order by n')).toBe('7');
    expect(await shop.value("select 'Asia/Seoul' as zone from plain where 1 = 0")).toBeUndefined();
  });
});
