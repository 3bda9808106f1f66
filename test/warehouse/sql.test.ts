import { afterAll, beforeAll, expect, test } from 'vitest';
import { openWarehouse, type Warehouse } from '../../src/warehouse/index.ts';
import { sql } from '../../src/warehouse/sql.ts';
import { createDatabase } from '../harness/database.ts';

let warehouse: Warehouse;
beforeAll(async () => {
  // One connection: what a transaction leaves behind, the next statement meets.
  warehouse = await openWarehouse({ url: await createDatabase('empty'), connections: 1 });
  await warehouse.db.query('create table public.t (n integer primary key)');
});
afterAll(() => warehouse.close());

const numbers = async () =>
  (await sql<{ n: number }>`select n from public.t order by n`.execute(warehouse.db)).rows.map(({ n }) => n);

test('values become parameters, in the order of the text, also those of parts within parts', async () => {
  const evil = "'; drop table public.t; --";
  const inner = sql`${evil}::text as b, ${sql`${[1, 2]}::integer[]`} as c`;
  const { rows } = await sql`select ${1}::integer as a, ${inner}, ${null}::text as d`.execute(warehouse.db);
  expect(rows).toEqual([{ a: 1, b: evil, c: [1, 2], d: null }]);
});

test('a transaction is kept as a whole, or rolled back with the error that ended it', async () => {
  const { db } = warehouse;
  const insert = (n: number) => sql`insert into public.t values (${n})`;
  await db.transaction(async (trx) => void (await insert(1).execute(trx)));
  const failing = db.transaction(async (trx) => {
    await insert(2).execute(trx);
    await insert(1).execute(trx);
  });
  await expect(failing).rejects.toMatchObject({ code: '23505' });
  expect(await numbers()).toEqual([1]);
});

test('a transaction of which a failed statement was ignored does not count as committed', async () => {
  const ignoring = warehouse.db.transaction(async (trx) => {
    await trx.query('insert into public.t values (3)');
    await trx.query('select 1/0').catch(() => {});
  });
  await expect(ignoring).rejects.toThrow(/rolled back/);
  expect(await numbers()).toEqual([1]);
});

test('a transaction whose connection the server ends fails with that reason, and the next statement has another connection', async () => {
  const ended = warehouse.db.transaction((trx) => trx.query('select pg_terminate_backend(pg_backend_pid())'));
  await expect(ended).rejects.toMatchObject({ code: '57P01' });
  expect(await numbers()).toEqual([1]);
});
