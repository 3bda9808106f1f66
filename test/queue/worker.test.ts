import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from 'vitest';
import type { Counts } from '../../src/base/counts.ts';
import { IncompleteError } from '../../src/base/errors.ts';
import type { QueueName, Queues } from '../../src/queue/index.ts';
import type { RunJob, StepsEnd } from '../../src/queue/job.ts';
import { onEachQueue, openTestQueues, runEnded, startTestWorker } from '../harness/each-queue.ts';
import { until } from '../harness/world.ts';

/** What the handlers of a test's job do, and what they were called with. */
type Calls = {
  planned: number;
  /** The beginning of the run, as `begin` and `conclude` were told it. */
  startedAt: Date[];
  steps: number[];
  ends: StepsEnd<null>[];
  failed: unknown[];
  step: (step: number, signal: AbortSignal) => Promise<Counts>;
};

const calls = (step: Calls['step'] = async () => ({ records: 1 })): Calls => ({
  planned: 0,
  startedAt: [],
  steps: [],
  ends: [],
  failed: [],
  step,
});

/** A run of three steps. */
const job: RunJob<Calls, object, null, number> = {
  name: 'test-run',
  priority: 1,
  step: {
    name: 'test-step',
    parse: Number,
    async run(context, step, { signal }) {
      context.steps.push(step);
      return context.step(step, signal);
    },
  },
  parse: () => ({}),
  async begin(context, { startedAt }) {
    context.startedAt.push(startedAt);
    return true;
  },
  async plan(context) {
    context.planned += 1;
    return { state: null, steps: [0, 1, 2] };
  },
  async conclude(context, _payload, { startedAt }, end) {
    context.startedAt.push(startedAt);
    context.ends.push(end);
    return { outcome: end.failures.length > 0 ? 'incomplete' : 'done', counts: {} };
  },
  async fail(context, _run, error) {
    context.failed.push(error);
  },
};

onEachQueue(({ isHere, redisUrl }) => {
  const open = () => openTestQueues(redisUrl());

  const work = (queues: Queues, context: Calls, take: readonly QueueName[], one = job) =>
    startTestWorker(queues, { jobs: [one], context, take });

  test.skipIf(!isHere)(
    'a run interrupted while it adds its steps counts each of them once, also those that ended',
    async () => {
      const queues = await open();
      const context = calls(async (step) => {
        if (step === 1) throw new IncompleteError('step 1 cannot be read');
        return { records: 1 };
      });
      const { id } = await queues.enqueue(job, {});
      await work(queues, context, ['steps']);
      // The first worker adds the steps, and is stopped before it can write that down; meanwhile the steps end.
      const first = { ...queues, bull: { ...queues.bull, steps: Object.create(queues.bull.steps) as never } };
      const worker = await work(first, context, ['runs']);
      Object.assign(first.bull.steps, {
        async addBulk(jobs: Parameters<typeof queues.bull.steps.addBulk>[0]) {
          // Retention removes the steps that succeed, and keeps the one that fails.
          const trimmed = jobs.map((one) => ({ ...one, opts: { ...one.opts, removeOnComplete: true } }));
          await queues.bull.steps.addBulk(trimmed);
          await until(async () => (await queues.progress(id)).ended === 3);
          worker.abort.abort();
          throw new Error('stopped');
        },
      });
      await until(async () => worker.abort.signal.aborted);
      await worker.close();
      await work(queues, context, ['runs']);
      expect(await runEnded(queues, id)).toMatchObject({ state: 'ended', report: { outcome: 'incomplete' } });
      expect(context.steps.sort()).toEqual([0, 1, 2]);
      expect(context.planned).toBe(1);
      const [begin, end] = context.startedAt;
      expect(end).toEqual(begin);
      expect(context.ends).toEqual([
        { state: null, results: [{ records: 1 }, { records: 1 }], failures: [expect.stringContaining('step 1')] },
      ]);
    },
  );

  test.skipIf(!isHere)('a step that the queue has lost leaves the run incomplete', async () => {
    const queues = await open();
    const context = calls();
    const { id } = await queues.enqueue(job, {});
    const runs = await work(queues, context, ['runs']);
    await until(async () => (await queues.progress(id)).planned === 3);
    await until(async () => (await queues.bull.runs.getJobCounts('waiting-children'))['waiting-children'] === 1);
    const [lost] = await queues.bull.steps.getJobs(['prioritized', 'waiting']);
    await lost?.remove();
    await runs.close();
    await work(queues, context, ['runs', 'steps']);
    await runEnded(queues, id);
    expect(context.ends).toEqual([
      { state: null, results: [{ records: 1 }, { records: 1 }], failures: ['the queue has lost the step'] },
    ]);
  });

  test.skipIf(!isHere)(
    'a step in hand when the time to finish is over goes back to the queue, with all its attempts',
    async () => {
      const queues = await open();
      const context = calls(async (_step, signal) => {
        await delay(3_600_000, undefined, { signal });
        return {};
      });
      const { id } = await queues.enqueue(job, {});
      const first = await work(queues, context, ['runs', 'steps']);
      await until(async () => context.steps.length === 3);
      await first.close(1);
      expect(await queues.bull.steps.getJobCounts('active', 'prioritized', 'delayed', 'failed')).toMatchObject({
        active: 0,
        prioritized: 3,
        delayed: 0,
        failed: 0,
      });
      const [step] = await queues.bull.steps.getJobs(['prioritized']);
      expect(step?.attemptsMade).toBe(0);
      const second = calls();
      await work(queues, second, ['runs', 'steps']);
      expect(await runEnded(queues, id)).toMatchObject({ state: 'ended', report: { outcome: 'done' } });
      expect(second.steps.sort()).toEqual([0, 1, 2]);
      expect(second.planned).toBe(0);
    },
  );

  test.skipIf(!isHere)(
    'a run in hand when the time to finish is over goes back to the queue, and is not failed',
    async () => {
      const queues = await open();
      const context = calls();
      const stuck = {
        ...job,
        plan: (_c: Calls, _p: object, _r: unknown, signal: AbortSignal) =>
          delay(3_600_000, { state: null, steps: [] }, { signal }),
      };
      const { id } = await queues.enqueue(job, {});
      const first = await work(queues, context, ['runs'], stuck);
      await until(async () => (await queues.bull.runs.getJobCounts('active')).active === 1);
      await first.close(1);
      expect(context.failed).toEqual([]);
      await work(queues, context, ['runs', 'steps']);
      expect(await runEnded(queues, id)).toMatchObject({ state: 'ended', report: { outcome: 'done' } });
    },
  );

  test.skipIf(!isHere)('a run whose connection breaks is tried again, and one that cannot succeed is not', async () => {
    const queues = await open();
    const context = calls();
    const lost = Object.assign(new Error('terminating connection'), { severity: 'FATAL', code: '57P01' });
    const refused = Object.assign(new Error('relation does not exist'), { severity: 'ERROR', code: '42P01' });
    for (const [error, planned, state] of [
      [lost, 2, 'ended'],
      [refused, 1, 'failed'],
    ] as const) {
      let attempts = 0;
      const plan: typeof job.plan = async () => {
        attempts += 1;
        if (attempts === 1) throw error;
        return { state: null, steps: [] };
      };
      const worker = await work(queues, context, ['runs'], { ...job, plan });
      const { id } = await queues.enqueue(job, {});
      expect(await runEnded(queues, id)).toMatchObject({ state });
      expect(attempts).toBe(planned);
      await worker.close();
    }
    expect(new Set(context.failed)).toEqual(new Set(['relation does not exist']));
  });

  test.skipIf(!isHere)(
    'once the steps are added the job no longer holds them, so that nobody adds them again',
    async () => {
      const queues = await open();
      const { id } = await queues.enqueue(job, {});
      await work(queues, calls(), ['runs']);
      await until(async () => (await queues.bull.runs.getJobCounts('waiting-children'))['waiting-children'] === 1);
      const data = (await queues.bull.runs.getJob(id))?.data;
      expect(data).toMatchObject({ stage: 'waiting', planned: 3 });
      expect(data).not.toHaveProperty('steps');
    },
  );
});
