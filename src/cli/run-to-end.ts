import { setTimeout as delay } from 'node:timers/promises';
import { jobs } from '../../jobs/index.ts';
import { type App, stepsAtATime } from '../app.ts';
import { describeError, describeWithAdvice, IncompleteError, ReviewSyncError } from '../errors.ts';
import { plainWordsOf } from '../plain-words.ts';
import type { QueueName } from '../queue/index.ts';
import type { AnyRunJob, RunReport } from '../queue/job.ts';
import { type RunningWorker, startWorker, type WorkerOptions } from '../queue/worker.ts';
import { addToPart, partsOfRuns, partText, type RunPart } from '../warehouse/run-parts.ts';
import type { Report } from './command.ts';
import { processName } from './process-name.ts';
import type { Progress } from './progress.ts';

const lookEveryMs = 200;

/** A worker in this process. Commands take no scheduled runs: those are a real worker's. */
export function workerOf(
  app: App,
  take: readonly QueueName[],
  told: Pick<WorkerOptions<App>, 'onStep' | 'onRun' | 'onTrouble'> = {},
): RunningWorker {
  const { queues, log, now, abort } = app;
  const worker = processName();
  const keepPart: WorkerOptions<App>['keepPart'] = (runId, counts) =>
    addToPart(app.warehouse.db, { runId, worker, counts });
  return startWorker({
    queues,
    jobs,
    context: app,
    take,
    concurrency: stepsAtATime,
    log,
    now,
    abort,
    keepPart,
    ...told,
  });
}

export type Following = { progress: Progress; signal: AbortSignal };

/** Waits for the run to end, showing how it goes. The work is done by whichever workers there are. */
export async function follow(app: App, runId: string, { progress, signal }: Following): Promise<RunReport> {
  for (;;) {
    const at = await app.queues.progress(runId);
    switch (at.state) {
      case 'ended':
        progress.update(at.ended, at.planned);
        return at.report ?? { outcome: 'incomplete', counts: {}, error: 'the queue has lost the run’s report' };
      case 'failed':
        throw new ReviewSyncError('run', at.error ?? 'the run failed', {
          hint: 'Nothing is lost; run it again. npx review-sync doctor tells what is broken.',
        });
      case 'lost':
        throw new ReviewSyncError('run', 'the run is no longer in the queue', { hint: 'Run it again.' });
      default:
        progress.update(at.ended, at.planned);
    }
    if (signal.aborted) {
      throw new IncompleteError('Interrupted. What was done is kept.', {
        hint: 'Run the same command again to go on where it stopped; running workers go on by themselves.',
      });
    }
    await delay(lookEveryMs);
  }
}

/** Says why nothing goes on, once as long as it is the same: a full disk, a server that is gone. */
function tellTrouble({ wait }: Progress): (error: unknown) => void {
  let told: string | undefined;
  return (error) => {
    const trouble = plainWordsOf(error)?.what ?? describeError(error);
    if (trouble === told) return;
    told = trouble;
    wait(`the queue cannot be used, and is tried again: ${describeWithAdvice(error)}`, undefined);
  };
}

/** A run that ended, with what each process did of it. */
type SharedReport = RunReport & { parts?: RunPart[] };

/** Enqueues a run and works on it in this process, alone or together with running workers, to its end. */
export async function runToEnd(
  app: App,
  run: { job: AnyRunJob<App>; payload: unknown; id?: string },
  following: Following,
): Promise<SharedReport> {
  const { id, joined } = await app.queues.enqueue(run.job, run.payload, run.id);
  if (joined) app.log.info({ run: id }, 'this run is going already; joining it');
  const worker = workerOf(app, ['runs', 'steps'], { onTrouble: tellTrouble(following.progress) });
  try {
    const report = await follow(app, id, following);
    return { ...report, parts: (await partsOfRuns(app.warehouse.db, [id])).get(id) ?? [] };
  } finally {
    following.progress.stop();
    await worker.close();
  }
}

/** The report of a run as every command draws it; where processes shared it, with what each did. */
export function drawRun(title: string, report: SharedReport): Report {
  const counts = Object.entries(report.counts).filter(([, n]) => n > 0);
  const told = counts.map(([kind, n]) => `${n.toLocaleString('en')} ${kind.replaceAll('_', ' ')}`).join(', ');
  const parts = report.parts ?? [];
  const text = [
    `${title}: ${report.outcome}. ${told || 'Nothing to do.'}`,
    ...(parts.length > 1 ? parts.map((part) => `  ${part.worker}: ${partText(part)}`) : []),
    ...(report.error ? [report.error] : []),
  ].join('\n');
  return { text, json: report, incomplete: report.outcome !== 'done' };
}
