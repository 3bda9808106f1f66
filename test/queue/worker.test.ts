import { setTimeout as delay } from 'node:timers/promises';
import { expect, onTestFinished, test, vi } from 'vitest';
import type { Counts } from '../../src/base/counts.ts';
import { IncompleteError, ReviewSyncError } from '../../src/base/errors.ts';
import { openLog } from '../../src/base/log.ts';
import { openQueues, type QueueName, type Queues } from '../../src/queue/index.ts';
import type { RunJob, StepsEnd } from '../../src/queue/job.ts';
import { startWorker } from '../../src/queue/worker.ts';
import { installationOf } from '../../src/warehouse/connected-service.ts';
import { openWarehouse } from '../../src/warehouse/index.ts';
import { createDatabase, query } from '../harness/database.ts';
import { onEachQueue, openTestQueues, runEnded, startTestWorker } from '../harness/each-queue.ts';
import { until } from '../harness/world.ts';

/** What the handlers of a test's job do, and what they were called with. */
type Calls = {
  planned: number;
  /** The beginning of the run, as `begin` and `conclude` got it. */
  startedAt: Date[];
  steps: string[];
  /** The batches after which `next` was called. */
  ends: number[];
  concluded: StepsEnd<number>[];
  failed: unknown[];
  step: (step: string, signal: AbortSignal) => Promise<Counts>;
  next: (batch: number) => Promise<void>;
};

const calls = (given: Partial<Pick<Calls, 'step' | 'next'>> = {}): Calls => ({
  planned: 0,
  startedAt: [],
  steps: [],
  ends: [],
  concluded: [],
  failed: [],
  step: async () => ({ records: 1 }),
  next: async () => {},
  ...given,
});

/** A run of these steps, batch by batch. The state is the number of the batch. */
const jobOf = (batches: readonly string[][]): RunJob<Calls, object, number, string> => ({
  name: 'test-run',
  priority: 1,
  step: {
    name: 'test-step',
    parse: String,
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
    return { state: 0, steps: batches[0] ?? [] };
  },
  async next(context, _payload, batch) {
    context.ends.push(batch);
    await context.next(batch);
    const steps = batches[batch + 1];
    return steps && { state: batch + 1, steps };
  },
  async conclude(context, _payload, { startedAt }, end) {
    context.startedAt.push(startedAt);
    context.concluded.push(end);
    return { outcome: end.failures.length > 0 ? 'incomplete' : 'done', counts: {} };
  },
  async fail(context, _run, error) {
    context.failed.push(error);
  },
});
const job = jobOf([['0', '1', '2']]);
const batches = [['0a', '0b', '0c'], [], ['2a', '2b']];
const inBatches = jobOf(batches);
const every = batches.flat();

const work = (queues: Queues, context: Calls, take: readonly QueueName[], one = job) =>
  startTestWorker(queues, { jobs: [one], context, take });

/** What the queue does is tested on both queues, what review-sync makes of it below, on one. */
onEachQueue(({ redisUrl }) => {
  const open = () => openTestQueues(redisUrl());

  test('a run interrupted while it adds its steps counts each of them once, also those that ended', async () => {
    const queues = await open();
    const context = calls({
      async step(step) {
        if (step === '1') throw new IncompleteError('step 1 cannot be read');
        return { records: 1 };
      },
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
    expect(context.steps.sort()).toEqual(['0', '1', '2']);
    expect(context.planned).toBe(1);
    const [begin, end] = context.startedAt;
    expect(end).toEqual(begin);
    expect(context.concluded).toEqual([
      { state: 0, results: [{ records: 1 }, { records: 1 }], failures: [expect.stringContaining('step 1')] },
    ]);
  });

  test('a command joins a run of its own key, none of another, and none whose key is forgotten', async () => {
    const queues = await open();
    const runs = [];
    for (const key of ['May', 'June', 'May', undefined]) runs.push(await queues.enqueue(job, {}, key));
    expect(runs.map(({ joined }) => joined)).toEqual([false, false, true, false]);
    const first = runs[0]?.id ?? '';
    await queues.forgetKey(first);
    const { id, joined } = await queues.enqueue(job, {}, 'May');
    expect(joined).toBe(false);
    await queues.forgetKey(first);
    expect(await queues.enqueue(job, {}, 'May')).toEqual({ id, joined: true });
  });

  test('a step that the queue has lost leaves the run of several batches incomplete', async () => {
    const queues = await open();
    const context = calls();
    const { id } = await queues.enqueue(inBatches, {});
    const runs = await work(queues, context, ['runs'], inBatches);
    await until(async () => (await queues.progress(id)).planned === 3);
    await until(async () => (await queues.bull.runs.getJobCounts('waiting-children'))['waiting-children'] === 1);
    const [lost] = await queues.bull.steps.getJobs(['prioritized', 'waiting']);
    await lost?.remove();
    await runs.close();
    await work(queues, context, ['runs', 'steps'], inBatches);
    await runEnded(queues, id);
    expect(context.concluded).toEqual([
      { state: 2, results: every.slice(1).map(() => ({ records: 1 })), failures: ['the queue has lost the step'] },
    ]);
  });

  test('no more steps run at once than may, and those in hand when the time to finish is over go back to the queue, with all attempts', async () => {
    const queues = await open();
    const context = calls({ step: (_step, signal) => delay(3_600_000, {}, { signal }) });
    const { id } = await queues.enqueue(job, {});
    const first = await startTestWorker(queues, { jobs: [job], context, take: ['runs', 'steps'], concurrency: 2 });
    await until(async () => context.steps.length >= 2);
    await first.close(1);
    expect(context.steps).toHaveLength(2);
    const counts = { active: 0, prioritized: 3, delayed: 0, failed: 0 };
    expect(await queues.counts()).toMatchObject({ steps: counts });
    const [step] = await queues.bull.steps.getJobs(['prioritized']);
    expect(step?.attemptsMade).toBe(0);
    const second = calls();
    await work(queues, second, ['runs', 'steps']);
    expect(await runEnded(queues, id)).toMatchObject({ state: 'ended', report: { outcome: 'done' } });
    expect(second.steps.sort()).toEqual(['0', '1', '2']);
    expect(second.planned).toBe(0);
  });

  test('a step that failed is tried again; queue, log and caller get cause and next step, and no customer', async () => {
    vi.useFakeTimers({ toFake: ['performance'] });
    onTestFinished(() => void vi.useRealTimers());
    const queues = await open();
    const cause = new Error('no order of kim@example.com');
    const error = new ReviewSyncError('shop', 'The shop cannot be read', { cause, hint: 'ask its owner' });
    const step = async () => {
      vi.advanceTimersByTime(2000);
      throw error;
    };
    const [lines, ended, retried]: [object[], unknown[], string[]] = [[], [], []];
    await startTestWorker(queues, {
      ...{ jobs: [job], context: calls({ step }), take: ['steps'] },
      log: openLog('info', (line) => void lines.push(JSON.parse(line))),
      onStep: (...one) => void ended.push(one),
      onRetry: (reason) => void retried.push(reason),
    });
    const data = { runId: 'a-run', payload: '0' };
    const { id = '' } = await queues.bull.steps.add('test-step', data, { attempts: 2, backoff: 1 });
    await until(async () => lines.length === 2);
    const failedReason = 'The shop cannot be read: no order of [e-mail] → ask its owner';
    expect(await queues.bull.steps.getJob(id)).toMatchObject({ failedReason });
    const facts = { job: 'test-step', id, error: expect.stringContaining(failedReason) };
    // The second attempt may end before the queue reports the first.
    expect(lines).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ ...facts, level: 40, msg: 'job failed; it will be retried' }),
        expect.objectContaining({ ...facts, level: 50, msg: 'job failed' }),
      ]),
    );
    expect(JSON.stringify([lines, retried])).not.toContain('kim');
    expect(retried).toEqual([expect.stringContaining(`a step of the run failed; trying again: ${failedReason}`)]);
    expect(ended).toEqual(Array(2).fill(['test-step', undefined, 2]));
  });

  test('a run in hand when the time to finish is over goes back to the queue, and is not failed', async () => {
    const queues = await open();
    const context = calls();
    const stuck = {
      ...job,
      plan: (_c: Calls, _p: object, _r: unknown, signal: AbortSignal) =>
        delay(3_600_000, { state: 0, steps: [] }, { signal }),
    };
    const { id } = await queues.enqueue(job, {});
    const first = await work(queues, context, ['runs'], stuck);
    await until(async () => (await queues.bull.runs.getJobCounts('active')).active === 1);
    await first.close(1);
    expect(context.failed).toEqual([]);
    await work(queues, context, ['runs', 'steps']);
    expect(await runEnded(queues, id)).toMatchObject({ state: 'ended', report: { outcome: 'done' } });
  });

  test('once the steps are added the job no longer holds them, so that nobody adds them again', async () => {
    const queues = await open();
    const { id } = await queues.enqueue(job, {});
    await work(queues, calls(), ['runs']);
    await until(async () => (await queues.counts()).runs['waiting-children'] === 1);
    const run = await queues.bull.runs.getJob(id);
    expect(run?.data).toMatchObject({ stage: 'waiting', planned: 3 });
    expect(run?.data).not.toHaveProperty('steps');
    // Both are tried again for some seconds, and kept for an hour, or for a week where they failed.
    const [step] = await queues.bull.steps.getJobs(['prioritized']);
    const kept = { removeOnComplete: { age: 3600, count: 1000 }, removeOnFail: { age: 604_800, count: 1000 } };
    const retries = (attempts: number, delay: number) => ({ attempts, backoff: { type: 'exponential', delay } });
    expect([run?.opts, step?.opts]).toMatchObject([
      { ...kept, ...retries(5, 1000) },
      { ...kept, ...retries(3, 2000) },
    ]);
  });

  test('each batch is planned when the one before has ended, and the run concludes once', async () => {
    const queues = await open();
    const seen: number[] = [];
    const context = calls({
      next: async () =>
        void seen.push((await queues.bull.steps.getJobCounts('prioritized', 'active')).prioritized ?? 0),
    });
    const { id } = await queues.enqueue(inBatches, {});
    await work(queues, context, ['runs', 'steps'], inBatches);
    expect(await runEnded(queues, id)).toMatchObject({ state: 'ended', planned: 5, report: { outcome: 'done' } });
    expect(context.steps.toSorted()).toEqual(every);
    expect(context.ends).toEqual([0, 1, 2]);
    expect(context.concluded).toEqual([{ state: 2, results: every.map(() => ({ records: 1 })), failures: [] }]);
    expect(seen).toEqual([0, 0, 0]);
  });
});

test('a run whose connection breaks is tried again, and one that cannot succeed is not', async () => {
  const queues = await openTestQueues();
  const context = calls();
  const lost = Object.assign(new Error('terminating connection'), { severity: 'FATAL', code: '57P01' });
  const refused = new ReviewSyncError('shop-query', 'wrong column', { hint: 'correct it' });
  const error = 'wrong column → correct it';
  for (const [cause, planned, end] of [
    [lost, 2, { state: 'ended' }],
    [refused, 1, { state: 'failed', error }],
  ] as const) {
    let attempts = 0;
    const plan: typeof job.plan = async () => {
      attempts += 1;
      if (attempts === 1) throw cause;
      return { state: 0, steps: [] };
    };
    const worker = await work(queues, context, ['runs'], { ...job, plan });
    const { id } = await queues.enqueue(job, {});
    expect(await runEnded(queues, id)).toMatchObject(end);
    expect(await queues.isAlive(id)).toBe(false);
    expect(attempts).toBe(planned);
    await worker.close();
  }
  expect(new Set(context.failed)).toEqual(new Set([error]));
});

test('a run whose connection breaks at each attempt is recorded as failed by the last', async () => {
  const queues = await openTestQueues();
  const context = calls();
  const plan = () => Promise.reject(Object.assign(new Error('terminated'), { severity: 'FATAL', code: '57P01' }));
  await work(queues, context, ['runs'], { ...job, plan });
  const jobId = 'a-run';
  await queues.bull.runs.add(job.name, { payload: {} }, { jobId, attempts: 2, backoff: 10 });
  expect(await runEnded(queues, jobId)).toMatchObject({ state: 'failed' });
  expect(context.failed).toHaveLength(1);
});

test('after a batch of which no step succeeded no other is planned: a system is down', async () => {
  const queues = await openTestQueues();
  for (const [failing, planned] of [
    [['0b'], [0, 1, 2]],
    [['0a', '0b', '0c'], []],
    [
      ['2a', '2b'],
      [0, 1],
    ],
  ]) {
    const context = calls({
      async step(step) {
        if (failing?.includes(step as never)) throw new IncompleteError(`${step} cannot be read`);
        return { records: 1 };
      },
    });
    const { id } = await queues.enqueue(inBatches, {});
    const worker = await work(queues, context, ['runs', 'steps'], inBatches);
    expect(await runEnded(queues, id)).toMatchObject({ state: 'ended', report: { outcome: 'incomplete' } });
    await worker.close();
    expect(context.ends).toEqual(planned);
    const [end] = context.concluded;
    expect(end?.failures.toSorted()).toEqual(failing?.map((step) => expect.stringContaining(`${step} cannot`)));
  }
});

test('a run interrupted between two batches plans the next one again, and repeats no step', async () => {
  const queues = await openTestQueues();
  let failures = 2;
  const context = calls({
    async next(batch) {
      // Lost after what `next` saves, and before the plan is written down.
      if (batch === 0 && failures-- > 0) {
        throw Object.assign(new Error('terminating connection'), { severity: 'FATAL', code: '57P01' });
      }
    },
  });
  const { id } = await queues.enqueue(inBatches, {});
  await work(queues, context, ['runs', 'steps'], inBatches);
  expect(await runEnded(queues, id)).toMatchObject({ state: 'ended', report: { outcome: 'done' } });
  expect(context.ends).toEqual([0, 0, 0, 1, 2]);
  expect(context.steps.toSorted()).toEqual(every);
  expect(context.concluded).toHaveLength(1);
});

test('a run that ends while its steps run gets no other step, batch or conclusion, and those in hand are stopped', async () => {
  const queues = await openTestQueues();
  const context = calls({ step: (_step, signal) => delay(3_600_000, {}, { signal }) });
  const stopped = { outcome: 'incomplete', counts: {}, reason: 'problem', error: 'stopped' } as const;
  let end: typeof stopped | undefined;
  const { id } = await queues.enqueue(inBatches, {});
  await startTestWorker(queues, {
    ...{ jobs: [inBatches], context, take: ['runs', 'steps'], concurrency: 2 },
    endOf: async () => end,
  });
  await until(async () => context.steps.length === 2);
  end = stopped;
  expect(await runEnded(queues, id)).toMatchObject({ state: 'ended', report: stopped });
  expect(context).toMatchObject({ steps: ['0a', '0b'], ends: [], concluded: [], failed: [] });
  // One that nobody has begun.
  const second = await queues.enqueue(inBatches, {});
  expect(await runEnded(queues, second.id)).toMatchObject({ state: 'ended', report: stopped });
  expect(context).toMatchObject({ planned: 1, failed: [] });
});

test('a run that ends while it is planned or concluded is stopped within a second', async () => {
  const queues = await openTestQueues();
  const stopped = { outcome: 'incomplete', counts: {}, reason: 'problem', error: 'stopped' } as const;
  let end: typeof stopped | undefined;
  const untilStopped = (signal: AbortSignal) => {
    end = stopped;
    return delay(3_600_000, undefined as never, { signal });
  };
  const hanging: Partial<typeof job>[] = [
    { plan: (_context, _payload, _run, signal) => untilStopped(signal) },
    { conclude: (_context, _payload, _run, _end, signal) => untilStopped(signal) },
  ];
  for (const stage of hanging) {
    end = undefined;
    const one = { ...job, ...stage };
    const context = calls();
    const take = ['runs', 'steps'] as const;
    const worker = await startTestWorker(queues, { jobs: [one], context, take, endOf: async () => end });
    const { id } = await queues.enqueue(one, {});
    expect(await runEnded(queues, id)).toMatchObject({ state: 'ended', report: stopped });
    expect(context).toMatchObject({ concluded: [], failed: [] });
    await worker.close(0);
  }
});

test('a run whose steps ended because it had ended is not concluded with them', async () => {
  const queues = await openTestQueues();
  const stopped = { outcome: 'incomplete', counts: {}, reason: 'problem', error: 'stopped' } as const;
  let end: typeof stopped | undefined;
  const context = calls({
    async next() {
      end = stopped;
    },
  });
  const { id } = await queues.enqueue(inBatches, {});
  const take = ['runs', 'steps'] as const;
  await startTestWorker(queues, { jobs: [inBatches], context, take, endOf: async () => end });
  expect(await runEnded(queues, id)).toMatchObject({ state: 'ended', report: stopped });
  // The second batch has no steps, so that its job does not wait.
  expect(context).toMatchObject({ ends: [0], concluded: [], failed: [] });
});

test('another installation on the same server takes no run of this one', async () => {
  const url = await createDatabase('migrated');
  const [ours, theirs] = await Promise.all([openQueues(url, 'ours'), openQueues(url, 'theirs')]);
  onTestFinished(async () => void (await Promise.all([ours.close(), theirs.close()])));
  const [left, taken] = await Promise.all([ours.enqueue(job, {}), theirs.enqueue(job, {})]);
  await startTestWorker(theirs, { jobs: [job], context: calls(), take: ['runs', 'steps'] });
  expect(await runEnded(theirs, taken.id)).toMatchObject({ state: 'ended' });
  expect(await ours.progress(left.id)).toMatchObject({ state: 'running' });
  const { db, close } = await openWarehouse({ url, connections: 1 });
  onTestFinished(close);
  const name = (clientId: string) => installationOf(db, { clientId });
  expect(await name('a')).toBe(await name('a'));
  expect(await name('a')).not.toBe(await name('b'));
});

test('a run whose workers were lost five times is taken over once more', async () => {
  const url = await createDatabase('migrated');
  const queues = await openQueues(url, 'test');
  onTestFinished(() => queues.close());
  const { id } = await queues.enqueue(job, {});
  await query(
    url,
    `update bullmq.job set state = 'active', lock_token = 'lost', locked_until_ms = 1, stalled_marked = true, stalled_count = 5`,
  );
  await startTestWorker(queues, { jobs: [job], context: calls(), take: ['runs', 'steps'] });
  expect(await runEnded(queues, id)).toMatchObject({ state: 'ended', report: { outcome: 'done' } });
});

test('a job of a dead worker is taken over within the given seconds: its lock ends, then a worker looks for such locks', async () => {
  const queues = await openTestQueues();
  const seconds: number[] = [];
  const Worker = new Proxy(queues.classes.Worker, {
    construct(worker, [name, handler, options]) {
      seconds.push((options.lockDuration + options.stalledInterval) / 1000);
      return Reflect.construct(worker, [name, handler, options]);
    },
  });
  const noting = { ...queues, classes: { ...queues.classes, Worker } };
  await startTestWorker(noting, { jobs: [job], context: calls(), take: ['runs', 'steps'] });
  expect(seconds).toEqual([25, 25]);
});

test('a worker that lost the run while it planned the next batch writes no plan over the other worker’s', async () => {
  const url = await createDatabase('migrated');
  const queues = await openQueues(url, 'test');
  onTestFinished(() => queues.close());
  const context = calls();
  let plans = 0;
  const stolen: typeof job = {
    ...inBatches,
    async next(_context, _payload, batch) {
      if (batch > 0) return undefined;
      plans += 1;
      if (plans > 1) return { state: 1, steps: ['plan of the other worker'] };
      // As if this process had been frozen until another one took the run over.
      await query(url, `update bullmq.job set lock_token = 'another' where queue = 'review-sync-runs-test'`);
      return { state: 1, steps: ['plan of the frozen worker'] };
    },
  };
  const { id } = await queues.enqueue(stolen, {});
  const options = { queues, jobs: [stolen], context, take: ['runs', 'steps'] as const, concurrency: 4 };
  const more = { takeOverSeconds: 2, abort: new AbortController(), log: openLog('silent'), now: () => new Date() };
  const worker = await startWorker({ ...options, ...more, endOf: async () => undefined });
  onTestFinished(() => worker.close(0));
  await until(async () => (await queues.progress(id)).state === 'ended');
  expect(context.steps.toSorted()).toEqual(['0a', '0b', '0c', 'plan of the other worker']);
});
