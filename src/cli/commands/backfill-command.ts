import { type BackfillReviews, backfillReviews } from '../../../jobs/backfill-reviews.ts';
import type { App } from '../../app/app.ts';
import { reviewDeps } from '../../app/deps.ts';
import { formatCount } from '../../app/status-view.ts';
import { spanOfDays } from '../../base/time/day-range.ts';
import { dayOf } from '../../base/time/span.ts';
import { backfillReviewsKey, estimateRequests, planBackfillReviews } from '../../reviews/plan-backfill-reviews.ts';
import { windowTotals } from '../../warehouse/reviews/export-windows.ts';
import { unfinishedSince } from '../../warehouse/runs/runs.ts';
import type { Command, Context, Report } from '../command.ts';
import { openProgress } from '../ui/progress.ts';
import { drawRun, enqueueOnly, runToEnd } from '../ui/run-to-end.ts';
import { withApp } from '../ui/with-app.ts';
import { backfillOrdersCommand } from './backfill-orders-command.ts';

type Options = { from?: string; to?: string; dryRun?: true; detach?: true; gaps?: true };

export const backfillCommand: Command = {
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
      .addHelpText(
        'after',
        `
Runs to the end, alone or together with running workers. Run again after an interruption, it continues.

Examples:
  npx review-sync backfill reviews --dry-run
  npx review-sync backfill reviews --from 2024-01-01 --to 2024-12-31`,
      )
      .action((options: Options) => run((context) => runBackfillReviews(context, options)));
  },
};

async function runBackfillReviews(context: Context, options: Options): Promise<Report> {
  const { from, to, gaps = false } = options;
  const payload: BackfillReviews = { ...(from && { from }), ...(to && { to }), gaps };
  // Wrong days are reported before anything is opened.
  spanOfDays(payload, context.config().api.timeZone);
  const progress = openProgress(context.terminal, 'backfill reviews', 'windows');
  return withApp(context, progress, async (app) => {
    if (options.dryRun) return await dryRun(context, app, payload);
    const run = { job: backfillReviews, payload, key: backfillReviewsKey(payload) };
    if (options.detach) return await enqueueOnly(app, run);
    const note = (runId: string) => readSoFar(app, runId);
    const report = await runToEnd(app, run, { progress, signal: context.signal, note });
    return drawRun('backfill reviews', report);
  });
}

async function readSoFar({ warehouse }: App, runId: string): Promise<string> {
  const { reviews, requests } = await windowTotals(warehouse.db, runId);
  return `${formatCount(reviews)} reviews, ${formatCount(requests)} requests`;
}

async function dryRun(context: Context, app: App, { gaps, ...range }: BackfillReviews): Promise<Report> {
  const { timeZone } = app.config.api;
  const { db } = app.warehouse;
  const unfinished = await unfinishedSince(db, backfillReviewsKey({ ...range, gaps }), app.now());
  const since = gaps ? new Date(0) : (unfinished ?? app.now());
  const deps = reviewDeps(app, context.signal);
  const windows = await planBackfillReviews(deps, range, { since });
  const { requests, atLeast } = await estimateRequests(deps, windows);
  const days = windows.map(({ span }) => ({ from: dayOf(span.start, timeZone), to: dayOf(span.end - 1, timeZone) }));
  const lines = days.map((window) => `  ${window.from} … ${window.to}`);
  const text = [
    `${windows.length} windows, ${atLeast ? 'at least' : 'about'} ${requests} requests:`,
    ...lines,
    'Nothing was written.',
  ].join('\n');
  return { text, json: { windows: days, requests, atLeast } };
}
