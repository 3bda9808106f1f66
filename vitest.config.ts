import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Files that take minutes, though they are short: begun last, one alone would hold up the end. */
const long = ['orders-killed', 'flows', 'demo'];

class LongFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const place = ({ moduleId }: TestSpecification) => long.findIndex((name) => moduleId.endsWith(`/${name}.test.ts`));
    const others = (await super.sort(files)).filter((file) => place(file) < 0);
    return [...files.filter((file) => place(file) >= 0).sort((a, b) => place(a) - place(b)), ...others];
  }
}

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: ['test/harness/global-setup.ts'],
    sequence: { sequencer: LongFirst },
    // A hung test is a failure, not a measure of speed: two cores shared with Postgres and Redis.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    pool: 'forks',
    // More than the two cores of CI: half of the time is spent waiting, for a dead worker's lock to run out, say.
    maxWorkers: 3,
  },
});
