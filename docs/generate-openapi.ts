import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { openApiDocument } from '../src/sandbox/reference-service/schemas/openapi.ts';

// `npm run openapi`: what the reference service checks by, for a stranger's tools.
await writeFile(join(import.meta.dirname, 'openapi.json'), `${JSON.stringify(openApiDocument(), null, 2)}\n`);
