import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Files that take longest, those first that mostly wait: started last, one of them alone would hold up the end. */
const long = [
  ...['brands', 'stays-up', 'simulate', 'life', 'webhooks', 'authority', 'reviews-obstacles', 'lost-connections'],
  ...['worker', 'discretion', 'demo', 'rescan', 'reviews-complete', 'read-window'],
];

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
    setupFiles: ['test/harness/setup.ts'],
    sequence: { sequencer: LongFirst },
    // test/harness/setup.ts has the limit of a test.
    hookTimeout: 600_000,
    pool: 'forks',
    // One process runs many files and loads the source once. No test changes what another one reads in its process.
    isolate: false,
    // Three times the cores of CI. A file waits for most of its time, for a dead worker's lock to expire, say: four at a time
    // leave a third of the two cores idle.
    maxWorkers: 6,
  },
});
