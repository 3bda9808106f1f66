import { setTimeout as delay } from 'node:timers/promises';
import { expect, onTestFinished, test, vi } from 'vitest';
import type { Counts } from '../../src/base/counts.ts';
import { IncompleteError, ReviewSyncError } from '../../src/base/errors.ts';
import { openLog } from '../../src/base/log.ts';
import { openQueues } from '../../src/queue/index.ts';
import type { RunJob, StepsEnd } from '../../src/runs/job.ts';
import { openStepSlots } from '../../src/runs/step-slots.ts';
import { installationOf } from '../../src/warehouse/connected-service.ts';
import { openWarehouse } from '../../src/warehouse/index.ts';
import { createDatabase, query } from '../harness/database.ts';
import { onEachQueue, openTestQueues, runEnded, testRuns } from '../harness/each-queue.ts';
import { until } from '../harness/world.ts';

/** What the handlers of a test's job do, and what they were called with. */
type Calls = {
  planned: number;
  /** The beginning of the run, as `plan` and `conclude` got it. */
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
const jobOf = (batches: readonly string[][]): RunJob<Calls, number, string> => ({
  name: 'test-run',
  trigger: 'sync',
  readsShop: false,
  priority: 1,
  step: {
    name: 'test-step',
    parse: String,
    async run(context, step, { signal }) {
      context.steps.push(step);
      return context.step(step, signal);
    },
  },
  async plan(context, { startedAt }) {
    context.startedAt.push(startedAt);
    context.planned += 1;
    return { state: 0, steps: batches[0] ?? [] };
  },
  async next(context, _run, batch) {
    context.ends.push(batch);
    await context.next(batch);
    const steps = batches[batch + 1];
    return steps && { state: batch + 1, steps };
  },
  async conclude(context, { startedAt }, end) {
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

/** What the queue does is tested on both queues, what review-sync makes of it below, on one. */
onEachQueue(({ redisUrl }) => {
  const open = () => openTestQueues(redisUrl());

  test('a run interrupted while it adds its steps counts each of them once', async () => {
    const queues = await open();
    const runs = testRuns(queues);
    const context = calls({
      async step(step) {
        if (step === '1') throw new IncompleteError('step 1 cannot be read');
        return { records: 1 };
      },
    });
    const id = await runs.start(job);
    // The first worker adds the steps, and is stopped before it can write that down; meanwhile the steps end.
    const queue = await queues.ofRun(id);
    const addBulk = queue.addBulk.bind(queue);
    queue.addBulk = async (jobs) => {
      await addBulk(jobs);
      await until(async () => context.steps.length === 3 && (await queue.getJobCounts('active')).active === 1);
      worker.abort.abort();
      throw new Error('stopped');
    };
    const worker = await runs.worker(job, context);
    await until(async () => worker.abort.signal.aborted);
    await worker.close();
    queue.addBulk = addBulk;
    await runs.worker(job, context);
    expect(await runEnded(queues, id)).toMatchObject({ state: 'ended' });
    expect(context.steps.sort()).toEqual(['0', '1', '2']);
    expect(context.planned).toBe(1);
    const [begin, end] = context.startedAt;
    expect(end).toEqual(begin);
    expect(context.concluded).toEqual([
      { state: 0, results: [{ records: 1 }, { records: 1 }], failures: [expect.stringContaining('step 1')] },
    ]);
  });

  test('a step that the queue has lost leaves the run of several batches incomplete', async () => {
    const queues = await open();
    const runs = testRuns(queues);
    const context = calls();
    const id = await runs.start(inBatches);
    const queue = await queues.ofRun(id);
    const addBulk = queue.addBulk.bind(queue);
    queue.addBulk = async (jobs) => {
      const added = await addBulk(jobs.map((one) => ({ ...one, opts: { ...one.opts, delay: 3_600_000 } })));
      if (context.ends.length === 0) await added[0]?.remove();
      for (const step of added.slice(context.ends.length === 0 ? 1 : 0)) await step.promote();
      return added;
    };
    await runs.worker(inBatches, context);
    await runEnded(queues, id);
    expect(context.concluded).toEqual([
      { state: 2, results: every.slice(1).map(() => ({ records: 1 })), failures: ['the queue has lost the step'] },
    ]);
  });

  test('steps in hand when the time to finish is over go back, with all attempts', async () => {
    const queues = await open();
    const runs = testRuns(queues);
    const context = calls({ step: (_step, signal) => delay(3_600_000, {}, { signal }) });
    const id = await runs.start(job);
    const first = await runs.worker(job, context, { concurrency: 2 });
    await until(async () => context.steps.length >= 2);
    await first.close(1);
    // No more of them ran at once than may.
    expect(context.steps).toHaveLength(2);
    expect(await queues.counts([id])).toMatchObject({ steps: { active: 0, waiting: 3, delayed: 0, failed: 0 } });
    const [step] = await (await queues.ofRun(id)).getJobs(['waiting']);
    expect(step?.attemptsMade).toBe(0);
    const second = calls();
    await runs.worker(job, second);
    expect(await runEnded(queues, id)).toMatchObject({ state: 'ended' });
    expect(second.steps.sort()).toEqual(['0', '1', '2']);
    expect(second.planned).toBe(0);
  });

  test('a failed step is tried again; queue and log name its cause, and no customer', async () => {
    vi.useFakeTimers({ toFake: ['performance'] });
    onTestFinished(() => void vi.useRealTimers());
    const queues = await open();
    const runs = testRuns(queues);
    const cause = new Error('no order of kim@example.com');
    const error = new ReviewSyncError('shop', 'The shop cannot be read', { cause, hint: 'ask its owner' });
    const step = async () => {
      vi.advanceTimersByTime(2000);
      throw error;
    };
    const [lines, ended, retried]: [object[], unknown[], string[]] = [[], [], []];
    const runId = 'a-run';
    runs.row(runId, job.name);
    await runs.worker(job, calls({ step }), {
      log: openLog('info', (line) => void lines.push(JSON.parse(line))),
      onStep: (...one) => void ended.push(one),
      onRetry: (reason) => void retried.push(reason),
    });
    const queue = await queues.ofRun(runId);
    const { id = '' } = await queue.add('test-step', { payload: '0' }, { attempts: 2, backoff: 1 });
    await until(async () => lines.length === 2);
    const failedReason = 'The shop cannot be read: no order of [e-mail] → ask its owner';
    expect(await queue.getJob(id)).toMatchObject({ failedReason });
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

  test('a run in hand when the time to finish is over goes back, and is not failed', async () => {
    const queues = await open();
    const runs = testRuns(queues);
    const context = calls();
    const stuck = {
      ...job,
      plan: (_c: Calls, _r: unknown, signal: AbortSignal) => delay(3_600_000, { state: 0, steps: [] }, { signal }),
    };
    const id = await runs.start(job);
    const first = await runs.worker(stuck, context);
    await until(async () => (await queues.counts([id])).runs.active === 1);
    await first.close(1);
    expect(context.failed).toEqual([]);
    await runs.worker(job, context);
    expect(await runEnded(queues, id)).toMatchObject({ state: 'ended' });
  });

  test('once the steps are added the job of the run no longer holds them', async () => {
    const queues = await open();
    const runs = testRuns(queues);
    const id = await runs.start(job);
    const isEnding = Promise.withResolvers<Counts>();
    onTestFinished(() => isEnding.resolve({}));
    await runs.worker(job, calls({ step: () => isEnding.promise }));
    await until(async () => (await queues.counts([id])).runs['waiting-children'] === 1);
    const queue = await queues.ofRun(id);
    const run = await queue.getJob(id);
    expect(run?.data).toMatchObject({ stage: 'waiting', planned: 3 });
    expect(run?.data).not.toHaveProperty('steps');
    const [step] = await queue.getJobs(['active', 'waiting']);
    const retries = (attempts: number, wait: number) => ({ attempts, backoff: { type: 'exponential', delay: wait } });
    expect([run?.opts, step?.opts]).toMatchObject([retries(5, 1000), retries(3, 2000)]);
  });

  test('each batch is planned when the one before has ended, and the run concludes once', async () => {
    const queues = await open();
    const runs = testRuns(queues);
    const seen: number[] = [];
    const id = await runs.start(inBatches);
    const queue = await queues.ofRun(id);
    const context = calls({
      next: async () => void seen.push((await queue.getJobCounts('waiting')).waiting ?? 0),
    });
    await runs.worker(inBatches, context);
    expect(await runEnded(queues, id)).toMatchObject({ state: 'ended', planned: 5 });
    expect(context.steps.toSorted()).toEqual(every);
    expect(context.ends).toEqual([0, 1, 2]);
    expect(context.concluded).toEqual([{ state: 2, results: every.map(() => ({ records: 1 })), failures: [] }]);
    expect(seen).toEqual([0, 0, 0]);
  });

  test('what is left of a run that has ended goes, unless a process has a part of it in hand', async () => {
    const queues = await open();
    const runs = testRuns(queues);
    const isEnding = Promise.withResolvers<Counts>();
    const context = calls({ step: () => isEnding.promise });
    const id = await runs.start(job);
    const worker = await runs.worker(job, context);
    await until(async () => context.steps.length > 0);
    await expect(queues.drop(id)).rejects.toThrow('active');
    expect(await queues.isAlive(id)).toBe(true);
    runs.end(id, stopped);
    isEnding.resolve({});
    await worker.close();
    expect(await queues.progress(id)).toMatchObject({ state: 'lost' });
  });
});

const stopped = { outcome: 'incomplete', counts: {}, reason: 'problem', error: 'stopped' } as const;

test('nobody touches the queue of a run without a row, whatever somebody put there', async () => {
  const queues = await openTestQueues();
  const runs = testRuns(queues);
  const context = calls();
  await queues.add(job.name, 'forged');
  await (await queues.ofRun('forged')).add('test-step', { payload: 'forged' });
  const id = await runs.start(job);
  const worker = await runs.worker(job, context);
  expect(await runEnded(queues, id)).toMatchObject({ state: 'ended' });
  await worker.close();
  expect(context.steps).not.toContain('forged');
  // Neither where a worker is told to.
  await runs.worker(job, context, { runsToCarryOut: async () => ['forged'] });
  await until(async () => (await queues.progress('forged')).state === 'ended');
  expect(context.steps).not.toContain('forged');
  expect(context.planned).toBe(1);
});

test('a worker carries out only the runs that it is told to, and a step in the queue decides nothing', async () => {
  const queues = await openTestQueues();
  const runs = testRuns(queues);
  const ids = [await runs.start(job), await runs.start(job)];
  const context = calls();
  await runs.worker(job, context, { runsToCarryOut: async () => ids.slice(1) });
  expect(await runEnded(queues, ids[1] ?? '')).toMatchObject({ state: 'ended' });
  expect(await queues.progress(ids[0] ?? '')).toEqual({ state: 'running', planned: undefined, ended: 0 });
  expect(context.planned).toBe(1);
});

test('a worker carries out every run at once, though each one listens on a connection of its own', async () => {
  const queues = await openTestQueues();
  const runs = testRuns(queues);
  const all = Promise.withResolvers<void>();
  const ids = await Promise.all(Array.from({ length: 9 }, () => runs.start(job)));
  const context = calls({
    async step() {
      await all.promise;
      return {};
    },
  });
  // Eight are carried out at a time; the last one follows.
  await runs.worker(job, context, { concurrency: 24, startDue: async () => {} });
  await until(async () => context.steps.length === 24);
  all.resolve();
  for (const id of ids) {
    expect(await runEnded(queues, id)).toMatchObject({ state: 'ended' });
    runs.end(id, stopped);
  }
});

test('where all slots are taken, the steps of a backfill wait for those of regular runs', async () => {
  const order: string[] = [];
  const slots = openStepSlots(1);
  const isFree = Promise.withResolvers<void>();
  const first = slots(10, () => isFree.promise);
  const others = [
    [20, 'reconcile'],
    [10, 'backfill'],
    [1, 'sync'],
    [10, 'backfill, later'],
    [1, 'sync, later'],
  ] as const;
  const ends = others.map(([priority, name]) => slots(priority, async () => void order.push(name)));
  isFree.resolve();
  await Promise.all([first, ...ends]);
  expect(order).toEqual(['sync', 'sync, later', 'backfill', 'backfill, later', 'reconcile']);
});

test('a run whose connection breaks is tried again, and one that cannot succeed is not', async () => {
  const queues = await openTestQueues();
  const runs = testRuns(queues);
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
    const id = await runs.start(job);
    const worker = await runs.worker({ ...job, plan }, context);
    expect(await runEnded(queues, id)).toMatchObject(end);
    expect(await queues.isAlive(id)).toBe(false);
    expect(attempts).toBe(planned);
    runs.end(id, stopped);
    await worker.close();
  }
  expect(new Set(context.failed)).toEqual(new Set([error]));
});

test('a run whose connection breaks at each attempt is recorded as failed by the last', async () => {
  const queues = await openTestQueues();
  const runs = testRuns(queues);
  const context = calls();
  const plan = () => Promise.reject(Object.assign(new Error('terminated'), { severity: 'FATAL', code: '57P01' }));
  runs.row('a-run', job.name);
  const queue = await queues.ofRun('a-run');
  await queue.add(job.name, {}, { jobId: 'a-run', attempts: 2, backoff: 10 });
  await runs.worker({ ...job, plan }, context);
  expect(await runEnded(queues, 'a-run')).toMatchObject({ state: 'failed' });
  expect(context.failed).toHaveLength(1);
});

test('after a batch of which no step succeeded no other is planned: a system is down', async () => {
  const queues = await openTestQueues();
  const runs = testRuns(queues);
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
    const id = await runs.start(inBatches);
    const worker = await runs.worker(inBatches, context);
    expect(await runEnded(queues, id)).toMatchObject({ state: 'ended' });
    runs.end(id, stopped);
    await worker.close();
    expect(context.ends).toEqual(planned);
    const [end] = context.concluded;
    expect(end?.failures.toSorted()).toEqual(failing?.map((step) => expect.stringContaining(`${step} cannot`)));
  }
});

test('a run interrupted between two batches plans the next one again, and repeats no step', async () => {
  const queues = await openTestQueues();
  const runs = testRuns(queues);
  let failures = 2;
  const context = calls({
    async next(batch) {
      // Lost after what `next` saves, and before the plan is written down.
      if (batch === 0 && failures-- > 0) {
        throw Object.assign(new Error('terminating connection'), { severity: 'FATAL', code: '57P01' });
      }
    },
  });
  const id = await runs.start(inBatches);
  await runs.worker(inBatches, context);
  expect(await runEnded(queues, id)).toMatchObject({ state: 'ended' });
  expect(context.ends).toEqual([0, 0, 0, 1, 2]);
  expect(context.steps.toSorted()).toEqual(every);
  expect(context.concluded).toHaveLength(1);
});

test('a run that ends elsewhere gets no other step or conclusion; those in hand are stopped', async () => {
  const queues = await openTestQueues();
  const runs = testRuns(queues);
  const context = calls({ step: (_step, signal) => delay(3_600_000, {}, { signal }) });
  const id = await runs.start(inBatches);
  await runs.worker(inBatches, context, { concurrency: 2 });
  await until(async () => context.steps.length === 2);
  runs.end(id, stopped);
  // What the queue has of the run goes, too.
  await until(async () => (await queues.progress(id)).state === 'lost');
  expect(context).toMatchObject({ ends: [], concluded: [], failed: [] });
  expect(context.steps).toHaveLength(2);
});

test('a run that ends while it is planned or concluded is stopped', async () => {
  const queues = await openTestQueues();
  const runs = testRuns(queues);
  for (const stage of ['plan', 'conclude'] as const) {
    const id = await runs.start(job);
    const untilStopped = (...given: unknown[]) => {
      runs.end(id, stopped);
      return delay(3_600_000, undefined as never, { signal: given.at(-1) as AbortSignal });
    };
    const context = calls();
    const worker = await runs.worker({ ...job, [stage]: untilStopped }, context);
    await until(async () => (await queues.progress(id)).state === 'lost');
    expect(context).toMatchObject({ concluded: [], failed: [] });
    await worker.close(0);
  }
});

test('a run whose steps ended because it had ended is not concluded with them', async () => {
  const queues = await openTestQueues();
  const runs = testRuns(queues);
  const id = await runs.start(inBatches);
  const context = calls({ next: async () => runs.end(id, stopped) });
  await runs.worker(inBatches, context);
  // The second batch has no steps, so that the job of the run does not wait.
  await until(async () => (await queues.progress(id)).state === 'lost');
  expect(context).toMatchObject({ ends: [0], concluded: [], failed: [] });
});

test('another installation on the same server takes no run of this one', async () => {
  const url = await createDatabase('migrated');
  const [ours, theirs] = await Promise.all([openQueues(url, 'ours'), openQueues(url, 'theirs')]);
  onTestFinished(async () => void (await Promise.all([ours.close(), theirs.close()])));
  await ours.add(job.name, 'a-run');
  const runs = testRuns(theirs);
  runs.row('a-run', job.name);
  await runs.worker(job, calls());
  const taken = await runs.start(job);
  expect(await runEnded(theirs, taken)).toMatchObject({ state: 'ended' });
  expect(await ours.progress('a-run')).toMatchObject({ state: 'running' });
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
  const runs = testRuns(queues);
  const id = await runs.start(job);
  await query(
    url,
    `update bullmq.job set state = 'active', lock_token = 'lost', locked_until_ms = 1, stalled_marked = true, stalled_count = 5`,
  );
  await runs.worker(job, calls());
  expect(await runEnded(queues, id)).toMatchObject({ state: 'ended' });
});

test('a job of a dead worker is taken over within the given seconds', async () => {
  const queues = await openTestQueues();
  const seconds: number[] = [];
  // Its lock ends, then a worker looks for such locks.
  const Worker = new Proxy(queues.classes.Worker, {
    construct(worker, [name, handler, options]) {
      seconds.push((options.lockDuration + options.stalledInterval) / 1000);
      return Reflect.construct(worker, [name, handler, options]);
    },
  });
  const runs = testRuns({ ...queues, classes: { ...queues.classes, Worker } });
  await runs.start(job);
  await runs.worker(job, calls(), { startDue: async () => {} });
  await until(async () => seconds.length === 2);
  expect(seconds).toEqual([25, 25]);
});

test('a worker that lost the run while it planned writes no plan over the other worker’s', async () => {
  const url = await createDatabase('migrated');
  const queues = await openQueues(url, 'test');
  onTestFinished(() => queues.close());
  const runs = testRuns(queues);
  const context = calls();
  let plans = 0;
  const stolen: typeof job = {
    ...inBatches,
    async next(_context, { id }, batch) {
      if (batch > 0) return undefined;
      plans += 1;
      if (plans > 1) return { state: 1, steps: ['plan of the other worker'] };
      // As if this process had been frozen until another one took the run over.
      await query(url, `update bullmq.job set lock_token = 'another' where id = '${id}'`);
      return { state: 1, steps: ['plan of the frozen worker'] };
    },
  };
  const id = await runs.start(stolen);
  await runs.worker(stolen, context, { takeOverSeconds: 2 });
  await until(async () => (await queues.progress(id)).state === 'ended');
  expect(context.steps.toSorted()).toEqual(['0a', '0b', '0c', 'plan of the other worker']);
});
