/** Writes docs/warehouse.md: `npm run docs:warehouse`. */
import { writeFile } from 'node:fs/promises';
import { packagePath } from '../../src/base/package-path.ts';
import { warehousePage } from './page.ts';
import { openSampleWarehouse } from './sample-warehouse.ts';

await using opened = new AsyncDisposableStack();
const { url } = await openSampleWarehouse(opened);
await writeFile(packagePath('docs', 'warehouse.md'), await warehousePage(url));
