import { readdir } from 'node:fs/promises';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { packagePath } from '../../src/base/package-path.ts';
import { runCli } from '../harness/cli.ts';
import { createDatabase, queryAgain } from '../harness/database.ts';
import { openWorld, type World } from '../harness/world.ts';

const files = (await readdir(packagePath('sql', 'warehouse'))).filter((file) => file.endsWith('.sql')).sort();
const names = files.map((file) => file.replace('.sql', ''));

let world: World;
let url: string;
const cli = (...args: string[]) => runCli(args, { ...world.environment, WAREHOUSE_DATABASE_URL: url });

beforeAll(async () => {
  world = await openWorld();
});
beforeEach(async () => {
  url = await createDatabase();
});
afterAll(() => world[Symbol.asyncDispose]());

test('migrating from three machines at once, and then again, applies each file once', async () => {
  const ends = await Promise.all([1, 2, 3].map(() => cli('migrate', '--json')));
  expect(ends.flatMap(({ stdout }) => JSON.parse(stdout).applied as string[]).sort()).toEqual(names);
  expect(await cli('migrate')).toMatchObject({ status: 0, stdout: expect.stringMatching(/^Up to date\./) });
});

const applyNames = (...applied: string[]) =>
  queryAgain(
    url,
    `create schema review_sync_migrations;
     create table review_sync_migrations.applied as select name, '' as timestamp from unnest('{${applied}}'::text[]) as name`,
  );

test('a warehouse with the schema of a version before the first release is refused in one sentence', async () => {
  await applyNames('0001_sync', '0002_warehouse', '0013_security_b', '0036_discarded');
  const sentence =
    'The warehouse has the schema of a version before the first release: review_sync_migrations.applied lists 0001_sync and 3 others, ' +
    `expected are ${names[0]} to ${names.at(-1)}`;
  const hint = /WAREHOUSE_DATABASE_URL.* new, empty database .*npx review-sync migrate\..*read again/;
  for (const args of [['migrate'], ['status'], ['sync', 'orders']]) {
    const end = await cli(...args);
    expect([args, end.status, end.stderr]).toEqual([args, 1, expect.stringContaining(sentence)]);
    expect(end.stderr).toMatch(hint);
  }
  const doctor = await cli('doctor', '--json');
  expect(doctor.status).toBe(1);
  expect(doctor.stdout).toContain(sentence);
  expect(await queryAgain(url, `select from pg_namespace where nspname in ('sync', 'warehouse', 'bi')`)).toEqual([]);
});

test('migrate refuses a warehouse of a newer version, and changes nothing', async () => {
  await cli('migrate');
  await queryAgain(url, `insert into review_sync_migrations.applied values ('9999_future', '')`);
  await queryAgain(
    url,
    `delete from review_sync_migrations.applied where name = '${names.at(-1)}'; drop schema bi cascade`,
  );
  const end = await cli('migrate');
  expect(end).toMatchObject({ status: 1, stderr: expect.stringContaining('9999_future belongs to a newer version') });
  expect(await queryAgain(url, `select from pg_namespace where nspname = 'bi'`)).toEqual([]);
});
