import { afterAll } from 'vitest';
import { dropDatabases } from './database.ts';

// Registered before the hooks of the file, so it runs after them.
afterAll(dropDatabases);
