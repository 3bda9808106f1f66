import { expect, onTestFinished, test } from 'vitest';
import type { Counts } from '../../src/base/counts.ts';
import { IncompleteError } from '../../src/base/errors.ts';
import { openLog } from '../../src/base/log.ts';
import { openQueues, type QueueName, type Queues } from '../../src/queue/index.ts';
import type { BatchEnd, RunJob, StepsEnd } from '../../src/queue/job.ts';
import { startWorker } from '../../src/queue/worker.ts';
import { createDatabase, query } from '../harness/database.ts';
import { onEachQueue, openTestQueues, runEnded, startTestWorker } from '../harness/each-queue.ts';
import { until } from '../harness/world.ts';

/** A run plans its steps batch by batch, and holds one batch in the queue at a time. */

type Calls = {
  steps: string[];
  ends: (BatchEnd & { batch: number })[];
  concluded: StepsEnd<number>[];
  step: (step: string) => Promise<Counts>;
  next: (batch: number) => Promise<void>;
};

const calls = (given: Partial<Pick<Calls, 'step' | 'next'>> = {}): Calls => ({
  steps: [],
  ends: [],
  concluded: [],
  step: async () => ({ records: 1 }),
  next: async () => {},
  ...given,
});

/** Three batches of three, no and two steps. The state is the number of the batch. */
const batches = [['0a', '0b', '0c'], [], ['2a', '2b']];
const job: RunJob<Calls, object, number, string> = {
  name: 'test-run',
  priority: 1,
  step: {
    name: 'test-step',
    parse: String,
    async run(context, step) {
      context.steps.push(step);
      return context.step(step);
    },
  },
  parse: () => ({}),
  begin: async () => true,
  plan: async () => ({ state: 0, steps: batches[0] ?? [] }),
  async next(context, _payload, batch, end) {
    context.ends.push({ batch, ...end });
    await context.next(batch);
    const steps = batches[batch + 1];
    return steps && { state: batch + 1, steps };
  },
  async conclude(context, _payload, _run, end) {
    context.concluded.push(end);
    return { outcome: end.failures.length > 0 ? 'incomplete' : 'done', counts: {} };
  },
  fail: async () => {},
};
const every = batches.flat();

onEachQueue(({ isHere, redisUrl }) => {
  const open = () => openTestQueues(redisUrl());

  const work = (queues: Queues, context: Calls, take: readonly QueueName[] = ['runs', 'steps']) =>
    startTestWorker(queues, { jobs: [job], context, take });

  test.skipIf(!isHere)('each batch is planned when the one before has ended, and the run concludes once', async () => {
    const queues = await open();
    const seen: number[] = [];
    const context = calls({
      next: async () =>
        void seen.push((await queues.bull.steps.getJobCounts('prioritized', 'active')).prioritized ?? 0),
    });
    const { id } = await queues.enqueue(job, {});
    await work(queues, context);
    expect(await runEnded(queues, id)).toMatchObject({ state: 'ended', planned: 5, report: { outcome: 'done' } });
    expect(context.steps.toSorted()).toEqual(every);
    expect(context.ends).toEqual([
      { batch: 0, successes: 3, failures: 0 },
      { batch: 1, successes: 0, failures: 0 },
      { batch: 2, successes: 2, failures: 0 },
    ]);
    expect(context.concluded).toEqual([{ state: 2, results: every.map(() => ({ records: 1 })), failures: [] }]);
    expect(seen).toEqual([0, 0, 0]);
  });

  test.skipIf(!isHere)('a step that fails is reported to its own batch, and to the end of the run', async () => {
    const queues = await open();
    const context = calls({
      async step(step) {
        if (step === '0b') throw new IncompleteError('0b cannot be read');
        return { records: 1 };
      },
    });
    const { id } = await queues.enqueue(job, {});
    await work(queues, context);
    expect(await runEnded(queues, id)).toMatchObject({ state: 'ended', report: { outcome: 'incomplete' } });
    expect(context.ends.map(({ successes, failures }) => [successes, failures])).toEqual([
      [2, 1],
      [0, 0],
      [2, 0],
    ]);
    expect(context.concluded).toMatchObject([{ state: 2, failures: [expect.stringContaining('0b cannot be read')] }]);
  });

  test.skipIf(!isHere)(
    'a run interrupted between two batches plans the next one again, and repeats no step',
    async () => {
      const queues = await open();
      let failures = 2;
      const context = calls({
        async next(batch) {
          // Lost after what `next` saves, and before the plan is written down.
          if (batch === 0 && failures-- > 0) {
            throw Object.assign(new Error('terminating connection'), { severity: 'FATAL', code: '57P01' });
          }
        },
      });
      const { id } = await queues.enqueue(job, {});
      await work(queues, context);
      expect(await runEnded(queues, id)).toMatchObject({ state: 'ended', report: { outcome: 'done' } });
      expect(context.ends.map(({ batch }) => batch)).toEqual([0, 0, 0, 1, 2]);
      expect(context.steps.toSorted()).toEqual(every);
      expect(context.concluded).toHaveLength(1);
    },
  );
});

test('a worker that lost the run while it planned the next batch writes no plan over the other worker’s', async () => {
  const url = await createDatabase('migrated');
  const queues = await openQueues(url);
  onTestFinished(() => queues.close());
  const context = calls();
  let plans = 0;
  const stolen: typeof job = {
    ...job,
    async next(_context, _payload, batch) {
      if (batch > 0) return undefined;
      plans += 1;
      if (plans > 1) return { state: 1, steps: ['plan of the other worker'] };
      // As if this process had been frozen until another one took the run over.
      await query(url, `update bullmq.job set lock_token = 'another' where queue = 'review-sync-runs'`);
      return { state: 1, steps: ['plan of the frozen worker'] };
    },
  };
  const { id } = await queues.enqueue(stolen, {});
  const options = { queues, jobs: [stolen], context, take: ['runs', 'steps'] as const, concurrency: 4 };
  const more = { takeOverSeconds: 2, abort: new AbortController(), log: openLog('silent'), now: () => new Date() };
  const worker = await startWorker({ ...options, ...more });
  onTestFinished(() => worker.close(0));
  await until(async () => (await queues.progress(id)).state === 'ended');
  expect(context.steps.toSorted()).toEqual(['0a', '0b', '0c', 'plan of the other worker']);
});
