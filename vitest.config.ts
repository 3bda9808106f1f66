import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: ['test/harness/global-setup.ts'],
    // A hung test is a failure, not a measure of speed: two cores shared with Postgres and Redis.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    pool: 'forks',
    // More than the two cores of CI: half of the time is spent waiting, for a dead worker's lock to run out, say.
    maxWorkers: 3,
  },
});
