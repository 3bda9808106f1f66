import { Option } from 'commander';
import { backfillOrders, backfillOrdersKey } from '../../../jobs/backfill-orders.ts';
import { backfillReviews } from '../../../jobs/backfill-reviews.ts';
import { wholeNumber } from '../../app/config.ts';
import { orderDeps, reviewDeps } from '../../app/deps.ts';
import { ownPushRights } from '../../app/run-rights.ts';
import { counted } from '../../base/counts.ts';
import { UsageError } from '../../base/errors.ts';
import { type DayRange, spanOfDays } from '../../base/time/day-range.ts';
import { dayOf } from '../../base/time/span.ts';
import { diffBackfill } from '../../orders/compare/compare-orders.ts';
import { forecastOrders } from '../../orders/compare/forecast-orders.ts';
import { ordersByCreation } from '../../orders/select/orders-by-day.ts';
import {
  backfillReviewsKey,
  estimateRequests,
  planBackfillReviews,
  spanOf,
} from '../../reviews/plan/plan-backfill-reviews.ts';
import type { ReviewDeps } from '../../reviews/review-deps.ts';
import { spanTotals } from '../../warehouse/reviews/coverage.ts';
import { optionOf } from '../arguments.ts';
import type { Context, Define, Report } from '../command.ts';
import { drawDiff, drawForecast } from '../ui/difference-text.ts';
import { drawRun, runAndDraw, startOnly, withApp, withSystems } from '../with-app.ts';

type Options = { from?: string; to?: string; dryRun?: true; detach?: true };
type ReviewOptions = Options & { gaps?: true };
type OrderOptions = Options & { diff?: true; limit: number; withEmail?: true; allowRemovals?: true };

export const define: Define = (commander, run) => {
  commander
    .command('orders')
    .description('push every order created in the range; mails nobody unless --with-email')
    .option('--from <day>', 'first day, yyyy-mm-dd in the service’s time zone (default: the first order)')
    .option('--to <day>', 'last day, inclusive (default: the last order)')
    .option('--dry-run', 'only say what would be sent, and how many customers it could reach')
    .addOption(
      new Option('--diff', 'say per order what would change at the service, field by field').implies({ dryRun: true }),
    )
    // Without --diff, the option must not begin a backfill of everything.
    .addOption(
      new Option('--limit <orders>', 'with --diff: compare at most this many')
        .argParser(optionOf(wholeNumber(1, 999_999)))
        .default(100)
        .implies({ diff: true, dryRun: true }),
    )
    .option('--with-email', 'send e-mail and phone along: the service may then mail these customers')
    .option('--allow-removals', 'remove lines and orders beyond the allowance of a day')
    .option('--detach', 'only enqueue it, for running workers')
    .addHelpText(
      'after',
      `
Reads all orders of the range, each time it is run. An order that is at the service as it is in the shop costs no request.
Use --dry-run first: a mail cannot be recalled. With --diff, exit status 1 where an order could not be compared.
It replaces a backfill of the same range that has not ended, also one that was killed. To stop one that was started with
--detach, run it without and press Ctrl-C.

Examples:
  review-sync backfill orders --from 2024-01-01 --dry-run
  review-sync backfill orders --from 2024-01-01 --dry-run --diff --limit 20
  review-sync backfill orders --from 2024-01-01`,
    )
    .action((options: OrderOptions) => run((context) => runBackfillOrders(context, options)));
  commander
    .command('reviews')
    .description('export every review created in the range')
    .option('--from <day>', 'first day, yyyy-mm-dd in the service’s time zone (default: the overview’s first review)')
    .option('--to <day>', 'last day, inclusive (default: the overview’s last review)')
    .option('--dry-run', 'only print the windows and the requests they would cost')
    .option('--detach', 'only enqueue it, for running workers')
    .option('--gaps', 'read only what the coverage ledger lacks, and open gaps')
    .addHelpText(
      'after',
      `
Runs to the end, alone or together with running workers. Run again after an interruption, it continues.

Examples:
  review-sync backfill reviews --dry-run
  review-sync backfill reviews --from 2024-01-01 --to 2024-12-31`,
    )
    .action((options: ReviewOptions) => run((context) => runBackfillReviews(context, options)));
};

async function runBackfillReviews(context: Context, options: ReviewOptions): Promise<Report> {
  const { from, to, gaps = false } = options;
  const asked = { from, to, gaps };
  // Wrong days are reported before anything is opened.
  spanOfDays(asked, context.config().api.timeZone);
  const use = { label: 'backfill reviews', unit: 'windows' };
  if (options.dryRun) return withSystems(context, use, (app) => planReviews(reviewDeps(app, context.signal), asked));
  return withApp(context, use, async (app, progress) => {
    // Also reject days without any plausible date before a run is recorded.
    const deps = reviewDeps(app, context.signal);
    spanOf(asked, deps, deps.plausible);
    const run = { job: backfillReviews, asked, key: backfillReviewsKey(asked) };
    if (options.detach) return await startOnly(app, run);
    const note = async (runId: string) => {
      const { reviews, requests } = await spanTotals(app.warehouse.db, runId);
      return `${counted(reviews, 'review')}, ${counted(requests, 'request')}`;
    };
    return drawRun(use.label, await runAndDraw(context, progress, app, run, note));
  });
}

async function planReviews(deps: ReviewDeps, asked: DayRange & { gaps: boolean }): Promise<Report> {
  const planned = await planBackfillReviews(deps, asked, deps.now());
  const { requests, atLeast } = await estimateRequests(deps, planned.windows);
  const day = (second: number) => dayOf(second, deps.timeZone);
  const windows = planned.windows.map(({ span }) => ({ from: day(span.start), to: day(span.end - 1) }));
  const text = [
    `${counted(windows.length, 'window')}, ${atLeast ? 'at least' : 'about'} ${counted(requests, 'request')}:`,
    ...windows.map((window) => `  ${window.from} … ${window.to}`),
    'No review was stored.',
  ].join('\n');
  return { text, json: { windows, requests, atLeast } };
}

async function runBackfillOrders(context: Context, options: OrderOptions): Promise<Report> {
  const { from, to, withEmail = false, allowRemovals = false } = options;
  const asked = { trigger: withEmail ? 'backfill with e-mail' : 'backfill', from, to, allowRemovals } as const;
  const rights = ownPushRights(context.config(), asked.trigger, asked);
  if (withEmail && rights.contactMaxAgeDays <= 0) {
    const hint = 'Set ORDER_CONTACT_MAX_AGE_DAYS to a number of days, or leave out --with-email.';
    const what = '--with-email was asked for, and ORDER_CONTACT_MAX_AGE_DAYS is 0: this process sends no contact';
    throw new UsageError(what, { hint });
  }
  const use = { label: 'backfill orders', unit: 'slices of orders', readsShop: true };
  if (options.diff || options.dryRun) {
    return withSystems(context, use, async (app) => {
      const deps = orderDeps(app, context.signal);
      if (options.diff) return drawDiff(await diffBackfill(deps, rights, options.limit), options.limit);
      const forecast = await forecastOrders(deps, ordersByCreation(app.shop, rights.createdIn), rights);
      const contact = withEmail
        ? `With --with-email THEY ARE SENT: the service could mail all ${counted(forecast.withContact, 'customer')}.`
        : 'A backfill sends none that the service does not have already: it mails nobody (--with-email would). ' +
          'The regular sync sends those of young orders: review-sync sync orders --dry-run';
      return drawForecast(forecast, contact, allowRemovals);
    });
  }
  return withApp(context, use, async (app, progress) => {
    context.terminal.say(
      withEmail
        ? 'E-mail addresses and phone numbers ARE sent: the service may mail these customers.'
        : 'No e-mail address and no phone number is sent that the service does not have already: ' +
            'nobody is mailed (--with-email would).',
    );
    const run = { job: backfillOrders, asked, key: backfillOrdersKey(asked), replaces: true };
    if (options.detach) return await startOnly(app, run);
    return drawRun(use.label, await runAndDraw(context, progress, app, run));
  });
}
