import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { dbtSources } from '../../docs/warehouse-page/dbt-sources.ts';
import { packagePath } from '../../src/base/package-path.ts';
import { createWarehouse } from '../harness/warehouse.ts';

const model = (file: string) => readFile(packagePath('examples', 'dbt', 'models', file), 'utf8');

test('the sources of the dbt package are those of npm run docs:warehouse, described', async () => {
  const written = await model('sources.yml');
  expect(written).toBe(await dbtSources((await createWarehouse()).url));
  const [source] = parse(written).sources;
  const described: { description: string }[] = source.tables.flatMap(
    (table: { columns: { description: string }[] }) => [table, ...table.columns],
  );
  expect(described.filter(({ description }) => description === '')).toEqual([]);
  expect(source.tables.filter((table: object) => 'freshness' in table)).toMatchObject([{ name: 'freshness' }]);
});
