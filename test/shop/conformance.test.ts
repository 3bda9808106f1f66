import { describe, expect, test } from 'vitest';
import { createMysqlDatabase, hasMariadb, mysqlKinds } from '../harness/mariadb.ts';

test.skipIf(hasMariadb)('skipped: there is no mariadbd on the path', () => {});

describe.each(mysqlKinds)('%s', (kind) => {
  test('a test has an empty database of its own', async () => {
    const shop = await createMysqlDatabase(kind);
    expect(await shop.query('create table o (a int); insert into o values (1); select * from o')).toEqual([{ a: '1' }]);
    await shop.drop();
  });
});
