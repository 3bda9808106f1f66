import { AsyncLocalStorage } from 'node:async_hooks';
import { jobs } from '../../jobs/index.ts';
import type { Counts } from '../../src/base/counts.ts';
import { describeWithHint, IncompleteError } from '../../src/base/errors.ts';
import { isTransient } from '../../src/base/lost-connections.ts';
import type { Queues } from '../../src/queue/index.ts';
import { type AnyRunJob, named, type RunReport } from '../../src/runs/define-run.ts';
import { endOf } from '../../src/runs/run-to-end.ts';
import { findRun, finishRun, type RunRights } from '../../src/warehouse/runs/runs.ts';
import type { Opened } from './process.ts';
import { type Process, type Scheduler, within } from './scheduler.ts';

/** A process has it in hand. If that process is gone or frozen, it loses the task after a while. */
type Task = { holder: Process | undefined; heldSinceMs: number; token: number; notBeforeMs: number; attempts: number };
type Step = Task & { kind: 'step'; run: Run; payload: unknown; counts?: Counts; failure?: string };

export type Run = Task & {
  kind: 'run';
  id: string;
  job: AnyRunJob;
  /** What its row says; absent until a process has seen the row. */
  rights?: RunRights;
  stage: 'new' | 'waiting' | 'ended';
  state?: unknown;
  steps: Step[];
  /** Steps of the batches before the last one, and how many of them succeeded. */
  before: number;
  succeeded: number;
  startedMs: number;
  /** When a process first saw its row; 0: no process has. */
  seenMs: number;
  endedMs: number;
  report?: RunReport;
};

/** What the code that sends a request belongs to: for the oracle. */
export type Work = { run?: Run; what: string };
export const doing = new AsyncLocalStorage<Work>();

const takeOverMs = 25_000;
const stepAttempts = 3;
const runAttempts = 5;

/**
 * Runs the real jobs as BullMQ does: at least once, by whichever process takes them, again after a failure that may
 * pass, and by another process if the first is gone. No part of a task is lost when a process dies. A run's row has its
 * rights; the real code writes and reads it.
 */
export function createQueue(scheduler: Scheduler) {
  const runs: Run[] = [];
  const workers = new Set<Opened>();
  let tokens = 0;
  const task = (): Task => ({ holder: undefined, heldSinceMs: 0, token: 0, notBeforeMs: 0, attempts: 0 });
  const openRun = (id: string) => runs.find((one) => one.id === id && one.stage !== 'ended');

  const isFree = ({ holder, heldSinceMs, notBeforeMs }: Task): boolean => {
    if (notBeforeMs > scheduler.now()) return false;
    if (!holder) return true;
    const isGone = holder.isDead || holder.frozenUntilMs > scheduler.now();
    return isGone && scheduler.now() - heldSinceMs >= takeOverMs;
  };
  const isOpen = (step: Step) => step.counts === undefined && step.failure === undefined;
  const isReady = (run: Run) => run.stage === 'new' || (run.stage === 'waiting' && !run.steps.some(isOpen));

  function pump(): void {
    const awake = [...workers].filter(({ process }) => !process.isDead && process.frozenUntilMs <= scheduler.now());
    for (const run of runs) {
      const able = awake.filter(({ onlyRun }) => onlyRun === undefined || onlyRun === run.id);
      if (run.stage === 'ended' || able.length === 0) continue;
      const free: Task[] = isReady(run) ? [run] : run.steps.filter(isOpen);
      for (const one of free.filter(isFree)) hand(one as Run | Step, scheduler.random.pick(able));
    }
  }
  const pumpLater = (ms: number) => void scheduler.add(ms, pump, null);

  function hand(one: Run | Step, opened: Opened): void {
    tokens += 1;
    const token = tokens;
    Object.assign(one, { holder: opened.process, heldSinceMs: scheduler.now(), token });
    const run = one.kind === 'run' ? one : one.run;
    const isOurs = () => one.token === token && !opened.process.isDead;
    const take = () => {
      scheduler.tell(`takes ${one.kind === 'run' ? `${run.id} (${run.stage})` : `a step of ${run.id}`}`);
      const carried = one.kind === 'run' ? carryRun(opened, one, isOurs) : carryStep(opened, one, isOurs);
      void carried.catch((error: unknown) => scheduler.tell(`the queue is left by ${describeWithHint(error)}`));
    };
    scheduler.add(
      scheduler.random.next() * 5,
      () => within(opened.process, () => doing.run({ run, what: run.job.name }, take)),
      opened.process,
    );
  }

  function release(one: Task, notBeforeMs = 0): void {
    one.holder = undefined;
    one.notBeforeMs = notBeforeMs;
    pumpLater(Math.max(0, notBeforeMs - scheduler.now()) + 1);
  }

  async function carryStep({ app }: Opened, step: Step, isOurs: () => boolean): Promise<void> {
    const { run } = step;
    try {
      const row = await findRun(app.warehouse.db, run.id);
      const signal = app.abort.signal;
      const isOver = row === undefined || row.finishedAt !== null;
      const counts = isOver ? {} : await run.job.step.run(app, run.job.step.parse(step.payload), { run: row, signal });
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
    const { signal } = app.abort;
    const row = await findRun(app.warehouse.db, run.id).catch(() => undefined);
    if (!isOurs()) return;
    // A run without a row stays as it is: the process that starts it writes the row after the job.
    if (!row) {
      run.attempts += 1;
      if (run.attempts > 200) return end(run, { outcome: 'done', counts: { skipped: 1 } });
      return release(run, scheduler.now() + 1000);
    }
    run.rights = row.rights;
    run.seenMs ||= scheduler.now();
    const ended = endOf(row);
    if (ended) return end(run, ended);
    try {
      const counts = run.steps.map((step) => step.counts).filter((one) => one !== undefined);
      const isDown = run.steps.length > run.before && counts.length === run.succeeded;
      const isNew = run.stage === 'new';
      const next = isNew
        ? await run.job.plan(app, row, signal)
        : isDown
          ? undefined
          : await run.job.next?.(app, row, run.state);
      if (!isOurs()) return;
      if (next) {
        run.before = run.steps.length;
        run.succeeded = counts.length;
        adopt(run, next);
        return release(run);
      }
      const failures = run.steps.flatMap((step) => step.failure ?? []);
      const report = await run.job.conclude(app, row, { state: run.state, results: counts, failures }, signal);
      if (isOurs()) end(run, report);
    } catch (error) {
      scheduler.tell(`${run.id} fails: ${describeWithHint(error).slice(0, 160)}`);
      if (!isOurs()) return;
      run.attempts += 1;
      if (isTransient(error) && run.attempts < runAttempts)
        return release(run, scheduler.now() + 1000 * 2 ** (run.attempts - 1));
      const reason = describeWithHint(error);
      await finishRun(app.warehouse.db, run.id, { outcome: 'failed', error: reason }).catch(() => {});
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
    const text = `${run.id} ends ${report.outcome} ${JSON.stringify(report.counts)} ${report.error ?? ''}`;
    scheduler.tell(text.slice(0, 300));
    pumpLater(1);
  }

  /** What `App` has of the queue: enough to start runs. */
  const queues = {
    async add(jobName: string, id: string): Promise<void> {
      if (openRun(id)) return;
      runs.push({
        ...task(),
        kind: 'run',
        id,
        job: named(jobs, jobName),
        stage: 'new',
        steps: [],
        before: 0,
        succeeded: 0,
        startedMs: scheduler.now(),
        seenMs: 0,
        endedMs: 0,
      });
      pumpLater(scheduler.random.next() * 10);
    },
    async drop(id: string): Promise<void> {
      const run = openRun(id);
      if (run && !run.holder) end(run, { outcome: 'done', counts: { skipped: 1 } });
    },
    isAlive: async (id: string) => openRun(id) !== undefined,
  };

  return {
    runs,
    pump,
    queues: queues as unknown as Queues,
    /** A process takes runs and steps until it closes or dies; a command only those of its own run. */
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
    isQuiet: () => runs.every((run) => run.stage === 'ended'),
  };
}
