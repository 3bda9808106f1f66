/** Writes docs/warehouse-tables.md, and the sources of examples/dbt: `npm run docs:warehouse`. */
import { writeFile } from 'node:fs/promises';
import { packagePath } from '../../src/base/package-path.ts';
import { setStage } from '../../src/sandbox/demo/stage.ts';
import { dbtSources } from './dbt-sources.ts';
import { warehousePage } from './page.ts';

await using opened = new AsyncDisposableStack();
const { urls } = await setStage(opened, {
  sqlDir: packagePath('sql', 'shop'),
  timeZone: 'Asia/Seoul',
  fill: async () => {},
});
await writeFile(packagePath('docs', 'warehouse-tables.md'), await warehousePage(urls.warehouse));
await writeFile(packagePath('examples', 'dbt', 'models', 'sources.yml'), await dbtSources(urls.warehouse));
