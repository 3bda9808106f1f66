import { setTimeout as delay } from 'node:timers/promises';
import { expect, onTestFinished, test, vi } from 'vitest';
import type { Counts } from '../../src/base/counts.ts';
import { IncompleteError, ReviewSyncError } from '../../src/base/errors.ts';
import { openLog } from '../../src/base/log.ts';
import { openQueues } from '../../src/queue/index.ts';
import { takeJobs } from '../../src/queue/worker.ts';
import type { RunJob, StepsEnd } from '../../src/runs/define-run.ts';
import { installationOf } from '../../src/warehouse/connected-service.ts';
import { openWarehouse } from '../../src/warehouse/index.ts';
import { until } from '../harness/cli.ts';
import { createDatabase, query } from '../harness/database.ts';
import { onEachQueue, openTestQueues, runEnded, testRuns } from '../harness/queues.ts';

/** What happened in a run. */
type Seen = {
  planned: number;
  /** The beginning of the run, as `plan` and `conclude` got it. */
  startedAt: Date[];
  steps: string[];
  /** The batches after which `next` was called. */
  ends: number[];
  concluded: StepsEnd<number>[];
};
type Does = { step?: (step: string, signal: AbortSignal) => Promise<Counts>; next?: (batch: number) => Promise<void> };

/** A run of these steps, batch by batch. The state is the number of the batch. */
function jobOf(batches: readonly string[][], { step, next }: Does = {}): RunJob<number, string> & { seen: Seen } {
  const seen: Seen = { planned: 0, startedAt: [], steps: [], ends: [], concluded: [] };
  return {
    seen,
    name: 'test-run',
    trigger: 'sync',
    readsShop: false,
    priority: 1,
    step: {
      name: 'test-step',
      parse: String,
      async run(_app, one, { signal }) {
        seen.steps.push(one);
        return step ? step(one, signal) : { records: 1 };
      },
    },
    async plan(_app, { startedAt }) {
      seen.startedAt.push(startedAt);
      seen.planned += 1;
      return { state: 0, steps: batches[0] ?? [] };
    },
    async next(_app, _run, batch) {
      seen.ends.push(batch);
      await next?.(batch);
      const steps = batches[batch + 1];
      return steps && { state: batch + 1, steps };
    },
    async conclude(_app, { startedAt }, end) {
      seen.startedAt.push(startedAt);
      seen.concluded.push(end);
      return { outcome: end.failures.length > 0 ? 'incomplete' : 'done', counts: {} };
    },
  };
}
const three = [['0', '1', '2']];
const batches = [['0a', '0b', '0c'], [], ['2a', '2b']];
const every = batches.flat();

const broken = () => Object.assign(new Error('terminating connection'), { severity: 'FATAL', code: '57P01' });
/** Something that a process waits for, and that hangs until it is stopped. */
const hanging = (signal: AbortSignal) => delay(3_600_000, undefined as never, { signal });

/** The queue itself is tested on both queues. What review-sync makes of it, below, is tested on one. */
onEachQueue(({ redisUrl }) => {
  const open = () => openTestQueues(redisUrl());

  test('a run interrupted while it adds its steps counts each of them once', async () => {
    const { queues, runs } = await open();
    const inTwo = jobOf([...three, ['3']], {
      async step(step) {
        if (step === '1' || step === '2') throw new IncompleteError(`step ${step} cannot be read`);
        return { records: 1 };
      },
    });
    const { seen } = inTwo;
    const id = await runs.start(inTwo);
    // The first worker adds the last step, and is stopped before it can write that down; meanwhile the step ends.
    const queue = await queues.ofRun(id);
    const addBulk = queue.addBulk.bind(queue);
    queue.addBulk = async (jobs) => {
      const added = await addBulk(jobs);
      if (seen.ends.length === 0) return added;
      await until(async () => seen.steps.length === 4 && (await queue.getJobCounts('active')).active === 1);
      worker.abort.abort();
      throw new Error('stopped');
    };
    const worker = await runs.worker(inTwo);
    await until(async () => worker.abort.signal.aborted);
    await worker.close();
    // Nobody carries it out any more.
    expect((await runs.find(id))?.attendedAt).toEqual(new Date(0));
    // More steps have failed before than are added.
    expect(await queues.progress(id)).toEqual({ state: 'running', planned: 4, ended: 4 });
    queue.addBulk = addBulk;
    await runs.worker(inTwo);
    expect(await runEnded(queues, id)).toMatchObject({ state: 'ended' });
    expect(seen.steps.sort()).toEqual(['0', '1', '2', '3']);
    expect(seen.planned).toBe(1);
    const [begin, end] = seen.startedAt;
    expect(end).toEqual(begin);
    expect(seen.concluded).toEqual([
      { state: 1, results: [{ records: 1 }, { records: 1 }], failures: expect.objectContaining({ length: 2 }) },
    ]);
  });

  test('a batch waits for the one before; a step that the queue lost is a failure', async () => {
    const { queues, runs } = await open();
    const waiting: unknown[] = [];
    const inBatches = jobOf(batches, {
      next: async () => void waiting.push((await queue.getJobCounts('waiting')).waiting),
    });
    const { seen } = inBatches;
    const id = await runs.start(inBatches);
    const queue = await queues.ofRun(id);
    const addBulk = queue.addBulk.bind(queue);
    queue.addBulk = async (jobs) => {
      const added = await addBulk(jobs.map((one) => ({ ...one, opts: { ...one.opts, delay: 3_600_000 } })));
      const isFirst = seen.ends.length === 0;
      if (isFirst) await added[0]?.remove();
      for (const step of added.slice(isFirst ? 1 : 0)) await step.promote();
      return added;
    };
    await runs.worker(inBatches);
    expect(await runEnded(queues, id)).toMatchObject({ state: 'ended', planned: 5 });
    expect(seen.ends).toEqual([0, 1, 2]);
    expect(seen.steps.toSorted()).toEqual(every.slice(1));
    expect(waiting).toEqual([0, 0, 0]);
    const results = every.slice(1).map(() => ({ records: 1 }));
    expect(seen.concluded).toEqual([{ state: 2, results, failures: ['the queue has lost the step'] }]);
  });

  test('a run and steps in hand when the time is over go back, with all attempts', async () => {
    const { queues, runs } = await open();
    const last = jobOf(three);
    const id = await runs.start(last);
    const plan = (_app: unknown, _run: unknown, signal: AbortSignal) => hanging(signal);
    const first = await runs.worker({ ...last, plan });
    await until(async () => (await (await queues.ofRun(id)).getJobCounts('active')).active === 1);
    await first.close(1);

    const stepping = jobOf(three, { step: (_step, signal) => hanging(signal) });
    const ended: unknown[] = [];
    const onStep = (...one: unknown[]) => void ended.push(one);
    const second = await runs.worker(stepping, { concurrency: 2, onStep });
    await until(async () => stepping.seen.steps.length >= 2);
    await second.close(1);
    // No more of them ran at once than may.
    expect(stepping.seen.steps).toHaveLength(2);
    expect(ended).toEqual([]);
    const queue = await queues.ofRun(id);
    const none = { active: 0, delayed: 0, failed: 0 };
    expect(await queue.getJobCounts('active', 'waiting', 'delayed', 'failed')).toEqual({ ...none, waiting: 3 });
    const [step] = await queue.getJobs(['waiting']);
    expect(step?.attemptsMade).toBe(0);

    await runs.worker(last);
    expect(await runEnded(queues, id)).toMatchObject({ state: 'ended' });
    expect(last.seen.steps.sort()).toEqual(['0', '1', '2']);
    expect(last.seen.planned).toBe(0);
  });

  test('a failed step is tried again; queue and log name its cause, and no customer', async () => {
    vi.useFakeTimers({ toFake: ['performance'] });
    const { queues, runs } = await open();
    const cause = new Error('no order of kim@example.com');
    const error = new ReviewSyncError('shop', 'The shop cannot be read', { cause, hint: 'ask its owner' });
    const step = async () => {
      vi.advanceTimersByTime(2000);
      throw error;
    };
    const [lines, ended, retried]: [object[], unknown[], string[]] = [[], [], []];
    const runId = 'a-run';
    const job = jobOf(three, { step });
    await runs.row(runId, job.name);
    await runs.worker(job, {
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

  test('a run and its steps are tried again; once ended it goes, but for steps in hand', async () => {
    const { queues, runs } = await open();
    const isEnding = Promise.withResolvers<Counts>();
    onTestFinished(() => isEnding.resolve({}));
    const job = jobOf(three, { step: () => isEnding.promise });
    const id = await runs.start(job);
    const worker = await runs.worker(job);
    const queue = await queues.ofRun(id);
    await until(
      async () => (await queue.getJobCounts('waiting-children'))['waiting-children'] === 1 && job.seen.steps.length > 0,
    );
    const run = await queue.getJob(id);
    const [step] = await queue.getJobs(['active', 'waiting']);
    const retries = (attempts: number, wait: number) => ({ attempts, backoff: { type: 'exponential', delay: wait } });
    expect([run?.opts, step?.opts]).toMatchObject([retries(5, 1000), retries(3, 2000)]);
    await expect(queues.drop(id)).rejects.toMatchObject({ cause: { message: expect.stringContaining('active') } });
    expect(await queues.isAlive(id)).toBe(true);
    await runs.end(id);
    isEnding.resolve({});
    await worker.close();
    expect(await queues.progress(id)).toMatchObject({ state: 'lost' });
  });
});

test('a worker carries out its own runs that have a row, whatever the queue holds', async () => {
  const url = await createDatabase('migrated');
  const [ours, theirs] = await Promise.all([
    openQueues(url, { installation: 'ours' }),
    openQueues(url, { installation: 'theirs' }),
  ]);
  onTestFinished(async () => void (await Promise.all([ours.close(), theirs.close()])));
  const runs = await testRuns(ours);
  const job = jobOf(three);
  const [waiting, named] = [await runs.start(job), await runs.start(job)];
  await ours.add(job.name, 'forged');
  await (await ours.ofRun('forged')).add('test-step', { payload: 'forged' });
  // A run of another installation on the same server.
  await theirs.add(job.name, 'elsewhere');
  await runs.row('elsewhere', job.name);
  const open = [named, 'forged', 'elsewhere'].map((id) => ({ id, job: job.name }));
  await runs.worker(job, { runsToCarryOut: async () => open });
  expect(await runEnded(ours, named)).toMatchObject({ state: 'ended' });
  await until(async () => (await ours.progress('forged')).state === 'ended');
  expect(job.seen.steps.toSorted()).toEqual(['0', '1', '2']);
  expect(job.seen.planned).toBe(1);
  const untouched = { state: 'running', planned: undefined, ended: 0 };
  expect([await ours.progress(waiting), await theirs.progress('elsewhere')]).toEqual([untouched, untouched]);

  const { db, close } = await openWarehouse({ url, connections: 1 });
  onTestFinished(close);
  const name = (clientId: string) => installationOf(db, { clientId });
  expect(await name('a')).toBe(await name('a'));
  expect(await name('a')).not.toBe(await name('b'));
});

test('a run goes on where its connection broke; one that cannot succeed fails', async () => {
  const { queues, runs } = await openTestQueues();
  const refused = new ReviewSyncError('shop-query', 'wrong column', { hint: 'correct it' });
  const seen: Record<string, Seen> = {};
  const attempts: Record<string, number> = {};
  const fails = (times: number, error: Error, id: string) => {
    attempts[id] = (attempts[id] ?? 0) + 1;
    if (attempts[id] <= times) throw error;
  };
  const rows = [
    // Lost after what `next` saves, and before the plan is written down.
    ['between batches', (id: string) => fails(2, broken(), id), 3, { state: 'ended' }],
    ['once', (id: string) => fails(1, broken(), id), 2, { state: 'ended' }],
    ['at each attempt', (id: string) => fails(9, broken(), id), 4, { state: 'failed' }],
    ['refused', (id: string) => fails(1, refused, id), 1, { state: 'failed', error: 'wrong column → correct it' }],
  ] as const;
  for (const [id, stage] of rows) {
    const isLater = id === 'between batches';
    const job = jobOf(batches, { next: async (batch) => (isLater && batch === 0 ? stage(id) : undefined) });
    seen[id] = job.seen;
    const plan: typeof job.plan = async (...given) => {
      if (!isLater) stage(id);
      return job.plan(...given);
    };
    await runs.row(id, job.name);
    await (await queues.ofRun(id)).add(job.name, {}, { jobId: id, attempts: 4, backoff: 10 });
    await runs.worker({ ...job, plan }, { runsToCarryOut: async () => [{ id, job: job.name }] });
  }
  for (const [id, , times, end] of rows) {
    expect([id, await runEnded(queues, id)]).toMatchObject([id, end]);
    expect(await queues.isAlive(id)).toBe(false);
    const { steps = [], ends, concluded } = seen[id] ?? {};
    const { outcome, error } = (await runs.find(id)) ?? {};
    expect([id, attempts[id]]).toEqual([id, times]);
    // No step is repeated.
    expect(steps.toSorted()).toEqual(end.state === 'ended' ? every : []);
    expect([concluded?.length, outcome]).toEqual(end.state === 'ended' ? [1, null] : [0, 'failed']);
    if (id === 'between batches') expect(ends).toEqual([0, 0, 0, 1, 2]);
    if (id === 'refused') expect(error).toEqual(end.error);
  }
});

test('after a batch of which no step succeeded no other is planned: a system is down', async () => {
  const { queues, runs } = await openTestQueues();
  for (const [failing, planned] of [
    [['0b'], [0, 1, 2]],
    [['0a', '0b', '0c'], []],
    [
      ['2a', '2b'],
      [0, 1],
    ],
  ]) {
    const job = jobOf(batches, {
      async step(step) {
        if (failing?.includes(step as never)) throw new IncompleteError(`${step} cannot be read`);
        return { records: 1 };
      },
    });
    const id = await runs.start(job);
    await runs.worker(job, { runsToCarryOut: async () => [{ id, job: job.name }] });
    expect(await runEnded(queues, id)).toMatchObject({ state: 'ended' });
    expect(job.seen.ends).toEqual(planned);
    const [end] = job.seen.concluded;
    expect(end?.failures.toSorted()).toEqual(failing?.map((step) => expect.stringContaining(`${step} cannot`)));
  }
});

test.for(['plan', 'step', 'next', 'conclude'] as const)(
  'a run that ends elsewhere is stopped while its %s is in hand, and is dropped',
  async (stage) => {
    const { queues, runs } = await openTestQueues();
    const untilStopped = async (...given: unknown[]) => {
      await runs.end(id);
      return hanging(given.at(-1) as AbortSignal);
    };
    const inBatches = jobOf(batches, {
      // Two of its batch wait, and must not begin.
      step: async () => {
        if (stage === 'step') await runs.end(id);
        return {};
      },
      // The second batch has no steps, so that the job of the run does not wait.
      next: async () => void (stage === 'next' && (await runs.end(id))),
    });
    const id = await runs.start(inBatches);
    const itself = stage === 'plan' || stage === 'conclude' ? { [stage]: untilStopped } : {};
    await runs.worker({ ...inBatches, ...itself }, { concurrency: 1 });
    await until(async () => (await queues.progress(id)).state === 'lost');
    const { concluded, steps, ends } = inBatches.seen;
    expect(concluded).toEqual([]);
    expect(steps).toHaveLength({ plan: 0, step: 1, next: 3, conclude: 5 }[stage]);
    expect(ends).toEqual({ plan: [], step: [], next: [0], conclude: [0, 1, 2] }[stage]);
  },
);

test('a job of a dead worker is taken over in the given time, the sixth time too', async () => {
  const { url, queues } = await openTestQueues();
  const seconds: number[] = [];
  // Its lock ends, then a worker looks for such locks.
  const Worker = new Proxy(queues.classes.Worker, {
    construct(worker, [name, handler, options]) {
      seconds.push((options.lockDuration + options.stalledInterval) / 1000);
      return Reflect.construct(worker, [name, handler, options]);
    },
  });
  const runs = await testRuns({ ...queues, classes: { ...queues.classes, Worker } });
  const job = jobOf(three);
  const id = await runs.start(job);
  await query(
    url,
    `update bullmq.job set state = 'active', lock_token = 'lost', locked_until_ms = 1, stalled_marked = true, stalled_count = 5`,
  );
  await runs.worker(job, { takeDue: (taking) => takeJobs(taking, queues.scheduled.name, async () => {}) });
  expect(await runEnded(queues, id)).toMatchObject({ state: 'ended' });
  expect(seconds).toEqual([25, 25]);
});

test('a worker that lost its run while it planned leaves the plan of the other one', async () => {
  const { url, queues } = await openTestQueues();
  const lost = Promise.withResolvers<void>();
  const Worker = new Proxy(queues.classes.Worker, {
    construct: (worker, given) => Reflect.construct(worker, given).once('lockRenewalFailed', lost.resolve),
  });
  const runs = await testRuns({ ...queues, classes: { ...queues.classes, Worker } });
  let plans = 0;
  const inBatches = jobOf(batches);
  const stolen: typeof inBatches = {
    ...inBatches,
    async next(_app, { id }, batch) {
      if (batch > 0) return undefined;
      plans += 1;
      if (plans > 1) return { state: 1, steps: ['plan of the other worker'] };
      // As if this process had been frozen until another one took the run over.
      await query(url, `update bullmq.job set lock_token = 'another' where id = '${id}'`);
      await lost.promise;
      return { state: 1, steps: ['plan of the frozen worker'] };
    },
  };
  const id = await runs.start(stolen);
  const said: string[] = [];
  await runs.worker(stolen, { takeOverSeconds: 2, onRetry: (reason) => said.push(reason) });
  await until(async () => (await queues.progress(id)).state === 'ended');
  expect(said.join()).not.toContain('the queue cannot be used');
  expect(stolen.seen.steps.toSorted()).toEqual(['0a', '0b', '0c', 'plan of the other worker']);
});
