import fc from 'fast-check';
import { afterAll, afterEach, vi } from 'vitest';
import { patienceMs } from './cli.ts';
import { dropDatabases } from './database.ts';
import { testSeed } from './sampled.ts';

// A soak takes other cases each time; fast-check prints the seed of a failure.
if (process.env.PROPERTY_RUNS === undefined) fc.configureGlobal({ seed: testSeed });

// Ends what hangs. The load may grow while the tests of a file run, so even an idle machine gets two minutes.
vi.setConfig({ testTimeout: Math.max(120_000, patienceMs(60)) });

// No test leaves its own clock or a spy behind.
afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

// Registered before the hooks of the file, so it runs after them.
afterAll(dropDatabases);
