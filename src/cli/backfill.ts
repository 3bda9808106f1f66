import { type BackfillReviews, backfillReviews, backfillReviewsId } from '../../jobs/backfill-reviews.ts';
import { type App, openApp } from '../app.ts';
import { secondsOf } from '../day-range.ts';
import { estimateRequests, planBackfillReviews } from '../reviews/backfill-reviews.ts';
import { dayOf } from '../span.ts';
import { windowTotals } from '../warehouse/export-windows.ts';
import { findRun } from '../warehouse/runs.ts';
import { backfillOrdersCommand } from './backfill-orders.ts';
import type { Command, Context, Report } from './command.ts';
import { openProgress, type Progress } from './progress.ts';
import { drawRun, runToEnd } from './run-to-end.ts';

type Options = { from?: string; to?: string; dryRun?: true; detach?: true; gaps?: true };

export const backfill: Command = {
  name: 'backfill',
  summary: 'export every review, or push every order, created in a range of days',
  define(commander, run) {
    backfillOrdersCommand(commander, run);
    commander
      .command('reviews')
      .description('export every review created in the range')
      .option('--from <day>', 'first day, yyyy-mm-dd in the service’s time zone (default: the overview’s first review)')
      .option('--to <day>', 'last day, inclusive (default: the overview’s last review)')
      .option('--dry-run', 'only print the windows and the requests they would cost')
      .option('--detach', 'only enqueue it, for running workers')
      .option('--gaps', 'read only what the coverage ledger lacks')
      .option('--json', 'report as JSON')
      .addHelpText(
        'after',
        `
Runs to the end, alone or together with running workers. Interrupted, it goes on where it stopped when run again.

Examples:
  npx review-sync backfill reviews --dry-run
  npx review-sync backfill reviews --from 2024-01-01 --to 2024-12-31`,
      )
      .action((options: Options) => run((context) => runBackfill(context, options)));
  },
};

async function runBackfill(context: Context, options: Options): Promise<Report> {
  const config = context.config();
  const { from, to, gaps = false } = options;
  const payload: BackfillReviews = { ...(from && { from }), ...(to && { to }), gaps };
  // Wrong days are told before anything is opened.
  secondsOf(payload, config.api.timeZone);
  const progress = openProgress(context.terminal, 'backfill reviews', 'windows', Date.now);
  const app = await openApp(config, {
    log: context.log('error'),
    onWait: ({ reason, untilMs }) => progress.wait(reason, untilMs),
  });
  try {
    if (options.dryRun) return await dryRun(context, app, payload);
    const id = backfillReviewsId(payload);
    if (options.detach) {
      const { joined } = await app.queues.enqueue(backfillReviews, payload, id);
      const text = `${joined ? 'It is going already' : 'Enqueued'}: ${id}. See how it goes with: npx review-sync status`;
      return { text, json: { run: id, joined } };
    }
    const told = { ...progress, update: withTotals(app, id, progress) };
    const run = { job: backfillReviews, payload, id };
    const report = await runToEnd(app, run, { progress: told, signal: context.signal });
    return drawRun('backfill reviews', report);
  } finally {
    await app.close();
  }
}

/** Adds how many reviews were read so far to the windows done. */
function withTotals(app: App, runId: string, progress: Progress): Progress['update'] {
  let note = '';
  let isAsking = false;
  return (done, total) => {
    progress.update(done, total, note);
    if (isAsking) return;
    isAsking = true;
    windowTotals(app.warehouse.db, runId)
      .then(({ reviews, requests }) => {
        note = `${reviews.toLocaleString('en')} reviews, ${requests.toLocaleString('en')} requests`;
      })
      // Only the note is lost; what is wrong with the database is told by the run itself.
      .catch(() => {})
      .finally(() => {
        isAsking = false;
      });
  };
}

async function dryRun(context: Context, app: App, { gaps, ...range }: BackfillReviews): Promise<Report> {
  const { timeZone } = app.config.api;
  const { db } = app.warehouse;
  const unfinished = await findRun(db, backfillReviewsId({ ...range, gaps }));
  const isResumed = unfinished !== undefined && unfinished.outcome !== 'done';
  const since = gaps ? new Date(0) : isResumed ? unfinished.startedAt : app.now();
  const deps = { reviews: app.api.reviews, db, now: app.now };
  const windows = await planBackfillReviews(deps, range, { timeZone, since });
  const reading = { reviews: app.api.reviews, timeZone, signal: context.signal };
  const { requests, atLeast } = await estimateRequests(reading, windows);
  const days = windows.map(({ span }) => ({ from: dayOf(span.start, timeZone), to: dayOf(span.end, timeZone) }));
  const lines = days.map((window) => `  ${window.from} … ${window.to}`);
  const text = [
    `${windows.length} windows, ${atLeast ? 'at least' : 'about'} ${requests} requests:`,
    ...lines,
    'Nothing was written.',
  ].join('\n');
  return { text, json: { windows: days, requests, atLeast } };
}
