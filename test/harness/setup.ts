import fc from 'fast-check';
import { afterAll } from 'vitest';
import { dropDatabases } from './database.ts';
import { testSeed } from './sampled.ts';

// A soak takes other cases each time; fast-check prints the seed of a failure.
if (process.env.PROPERTY_RUNS === undefined) fc.configureGlobal({ seed: testSeed });

// Registered before the hooks of the file, so it runs after them.
afterAll(dropDatabases);
