/** Writes docs/warehouse-tables.md, and the sources of examples/dbt: `npm run docs:warehouse`. */
import { writeFile } from 'node:fs/promises';
import { packagePath } from '../../src/base/package-path.ts';
import { dbtSources } from './dbt-sources.ts';
import { warehousePage } from './page.ts';
import { openSampleWarehouse } from './sample-warehouse.ts';

await using opened = new AsyncDisposableStack();
const { url } = await openSampleWarehouse(opened);
await writeFile(packagePath('docs', 'warehouse-tables.md'), await warehousePage(url));
await writeFile(packagePath('examples', 'dbt', 'models', 'sources.yml'), await dbtSources(url));
