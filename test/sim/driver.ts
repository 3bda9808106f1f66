import { AsyncLocalStorage } from 'node:async_hooks';
import { endOf } from '../../jobs/define-run.ts';
import { jobs } from '../../jobs/index.ts';
import type { App } from '../../src/app/app.ts';
import { addCounts, type Counts } from '../../src/base/counts.ts';
import { describeWithHint, IncompleteError } from '../../src/base/errors.ts';
import { isTransient } from '../../src/base/lost-connections.ts';
import type { AnyRunJob, RunInfo, RunReport } from '../../src/queue/job.ts';
import type { Opened, Settings } from './process.ts';
import { type Process, type Scheduler, within } from './scheduler.ts';

/** Somebody has it in hand. A process that is gone or frozen loses it after a while. */
type Task = { holder: Process | undefined; heldSinceMs: number; token: number; notBeforeMs: number; attempts: number };
type Step = Task & { kind: 'step'; run: Run; payload: unknown; counts?: Counts; failure?: string };

export type Run = Task & {
  kind: 'run';
  id: string;
  job: AnyRunJob<App>;
  payload: object;
  trigger: RunInfo['trigger'];
  key: string | undefined;
  /** The settings of the command that started it. */
  settings: Settings;
  stage: 'new' | 'waiting' | 'ended';
  state: unknown;
  steps: Step[];
  /** Steps of the batches before the last one, and how many of them succeeded. */
  before: number;
  succeeded: number;
  startedMs: number;
  endedMs: number;
  report: RunReport | undefined;
};

export type Queue = ReturnType<typeof createQueue>;

/** What the code that sends a request belongs to: for the oracle. */
export const doing = new AsyncLocalStorage<{ run?: Run; what: string }>();

const takeOverMs = 25_000;
const stepAttempts = 3;
const runAttempts = 5;

/**
 * Runs the real jobs as BullMQ does: at least once, by whichever process takes them, again after a failure that may
 * pass, and by another process where the first is gone. Nothing of a task is lost when a process dies.
 */
export function createQueue(scheduler: Scheduler) {
  const runs: Run[] = [];
  const workers = new Set<Opened>();
  let tokens = 0;
  const task = (): Task => ({ holder: undefined, heldSinceMs: 0, token: 0, notBeforeMs: 0, attempts: 0 });

  const isFree = ({ holder, heldSinceMs, notBeforeMs }: Task): boolean => {
    if (notBeforeMs > scheduler.now()) return false;
    if (!holder) return true;
    const isGone = holder.isDead || holder.frozenUntilMs > scheduler.now();
    return isGone && scheduler.now() - heldSinceMs >= takeOverMs;
  };
  const isOpen = (step: Step) => step.counts === undefined && step.failure === undefined;
  const isReady = (run: Run) => run.stage === 'new' || (run.stage === 'waiting' && !run.steps.some(isOpen));

  function pump(): void {
    const able = [...workers].filter(({ process, isClosing }) => !process.isDead && !isClosing && process.frozenUntilMs <= scheduler.now());
    if (able.length === 0) return;
    for (const run of runs) {
      if (run.stage === 'ended') continue;
      if (isReady(run) && isFree(run)) hand(run, scheduler.random.pick(able), carryRun);
      else for (const step of run.steps) if (isOpen(step) && isFree(step)) hand(step, scheduler.random.pick(able), carryStep);
    }
  }
  const pumpLater = (ms: number) => void scheduler.add(ms, 'queue', pump, undefined);

  function hand<T extends Run | Step>(
    one: T,
    opened: Opened,
    carry: (opened: Opened, one: T, isOurs: () => boolean) => Promise<void>,
  ): void {
    tokens += 1;
    const token = tokens;
    Object.assign(one, { holder: opened.process, heldSinceMs: scheduler.now(), token });
    const run: Run = one.kind === 'run' ? (one as Run) : (one as Step).run;
    scheduler.add(scheduler.random.next() * 5, 'take', () =>
      within(opened.process, () => {
        scheduler.tell(`takes ${one.kind === 'run' ? `${run.id} (${run.stage})` : `a step of ${run.id}`}`);
        doing.run({ run, what: run.job.name }, () => void carry(opened, one, () => one.token === token && !opened.process.isDead));
      }), opened.process);
  }

  function release(one: Task, notBeforeMs = 0): void {
    one.holder = undefined;
    one.notBeforeMs = notBeforeMs;
    pumpLater(Math.max(0, notBeforeMs - scheduler.now()) + 1);
  }

  async function carryStep({ app }: Opened, step: Step, isOurs: () => boolean): Promise<void> {
    const { run } = step;
    try {
      const at = { runId: run.id, signal: app.abort.signal };
      const counts = await run.job.step.run(app, run.job.step.parse(step.payload), at);
      if (isOurs()) step.counts = counts;
    } catch (error) {
      scheduler.tell(`a step of ${run.id} fails: ${describeWithHint(error).slice(0, 160)}`);
      if (!isOurs()) return;
      step.attempts += 1;
      const mayPass = !(error instanceof IncompleteError) && step.attempts < stepAttempts;
      if (mayPass) return release(step, scheduler.now() + 2000 * 2 ** (step.attempts - 1));
      step.failure = describeWithHint(error);
    }
    if (isOurs()) release(step);
  }

  async function carryRun({ app }: Opened, run: Run, isOurs: () => boolean): Promise<void> {
    const info: RunInfo = { id: run.id, key: run.key, trigger: run.trigger, startedAt: new Date(run.startedMs) };
    const { signal } = app.abort;
    const isAlive = async (id: string) => runs.some((one) => one.id === id && one.stage !== 'ended');
    try {
      if (run.stage === 'new' && !(await run.job.begin(app, info, isAlive))) {
        if (isOurs()) end(run, { outcome: 'done', counts: { skipped: 1 } });
        return;
      }
      const payload = run.job.parse(run.payload);
      const ended = run.stage === 'new' ? await endOf(app, run.id) : undefined;
      if (ended) {
        if (isOurs()) end(run, ended);
        return;
      }
      if (run.stage === 'new') {
        const plan = await run.job.plan(app, payload, info, signal);
        if (isOurs()) adopt(run, plan);
      } else {
        const counts = run.steps.map((step) => step.counts).filter((one) => one !== undefined);
        const isDown = run.steps.length > run.before && counts.length === run.succeeded;
        const next = isDown ? undefined : await run.job.next?.(app, payload, run.state);
        if (!isOurs()) return;
        if (next) {
          run.before = run.steps.length;
          run.succeeded = counts.length;
          adopt(run, next);
        } else {
          const failures = run.steps.flatMap((step) => step.failure ?? []);
          const report = await run.job.conclude(app, payload, info, { state: run.state, results: counts, failures }, signal);
          if (isOurs()) end(run, report);
          return;
        }
      }
      if (isOurs()) release(run);
    } catch (error) {
      scheduler.tell(`${run.id} fails: ${describeWithHint(error).slice(0, 160)}`);
      if (!isOurs()) return;
      run.attempts += 1;
      if (isTransient(error) && run.attempts < runAttempts) return release(run, scheduler.now() + 1000 * 2 ** (run.attempts - 1));
      const reason = describeWithHint(error);
      await run.job.fail(app, info, reason).catch(() => {});
      if (isOurs()) end(run, { outcome: 'incomplete', counts: {}, reason: 'problem', error: reason });
    }
  }

  /** As it comes out of the queue, which keeps JSON. */
  function adopt(run: Run, plan: { state: unknown; steps: unknown[] }): void {
    const { state, steps } = JSON.parse(JSON.stringify(plan)) as typeof plan;
    run.state = state;
    run.stage = 'waiting';
    run.steps.push(...steps.map((payload): Step => ({ ...task(), kind: 'step', run, payload })));
  }

  function end(run: Run, report: RunReport): void {
    run.stage = 'ended';
    run.report = report;
    run.endedMs = scheduler.now();
    run.holder = undefined;
    scheduler.tell(`${run.id} ends ${report.outcome} ${JSON.stringify(report.counts)} ${report.error ?? ''}`.slice(0, 300));
    pumpLater(1);
  }

  return {
    runs,
    pump,
    /** A worker takes runs and steps until it closes or dies. */
    join(opened: Opened): void {
      workers.add(opened);
      pumpLater(1);
    },
    leave(opened: Opened): void {
      workers.delete(opened);
      pumpLater(takeOverMs + 1);
    },
    /** After a process was killed or frozen. */
    lookAgain: () => pumpLater(takeOverMs + 1),
    enqueue(name: string, payload: object, trigger: RunInfo['trigger'], settings: Settings, key?: string): Run {
      const job = jobs.find((one) => one.name === name);
      if (!job) throw new Error(`there is no job ${name}`);
      const run: Run = {
        ...task(),
        kind: 'run',
        id: `${name}-${runs.length + 1}`,
        job,
        payload: JSON.parse(JSON.stringify(payload)) as object,
        ...{ trigger, key, settings, stage: 'new', state: undefined, steps: [], before: 0, succeeded: 0, report: undefined },
        startedMs: scheduler.now(),
        endedMs: 0,
      };
      runs.push(run);
      pumpLater(1);
      return run;
    },
    isQuiet: () => runs.every((run) => run.stage === 'ended'),
  };
}

export const countsOf = (run: Run): Counts => run.report?.counts ?? addCounts([]);
