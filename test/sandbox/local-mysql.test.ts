import { dirname } from 'node:path';
import { expect, test } from 'vitest';
import { createMysqlDatabase, mysqlKinds } from '../harness/servers.ts';

// A server deletes the temporary tables that it finds in its folder for them at its start.
test.for(mysqlKinds)('a local %s has a folder of its own for temporary tables', async (kind) => {
  const database = await createMysqlDatabase(kind);
  const [folders] = await database.query('select @@tmpdir as temporary, @@datadir as data');
  expect(folders?.temporary).toBe(dirname(folders?.data ?? ''));
});
