import { reviewDeps } from '../../app/deps.ts';
import { formatCount } from '../../app/status-view.ts';
import { spanOfDays } from '../../base/time/day-range.ts';
import { type Found, type Verification, verifyReviews } from '../../reviews/verify-reviews.ts';
import { recount } from '../../warehouse/bi/recount.ts';
import type { Command, Context, Report } from '../command.ts';
import { openProgress } from '../ui/progress.ts';
import { table } from '../ui/table.ts';
import { withApp } from '../ui/with-app.ts';
import { verifyOrdersCommand } from './verify-orders-command.ts';

type Options = { from?: string; to?: string; repair?: boolean };

/** Differences that are listed one by one; all are counted. */
const drawnAtMost = 20;

export const verifyCommand: Command = {
  define(commander, run) {
    verifyOrdersCommand(commander, run);
    commander
      .command('reviews')
      .description('which reviews the warehouse lacks, holds in an older version, or holds although they are gone')
      .option('--from <day>', 'first day of creation, yyyy-mm-dd in the service’s time zone (default: all)')
      .option('--to <day>', 'last day, inclusive')
      .option('--repair', 'bring in what is missing or stale, and mark deleted what the service says is gone')
      .addHelpText('after', '\nExit status 1 when anything differs and was not repaired.')
      .action((options: Options) => run((context) => runVerifyReviews(context, options)));
  },
};

async function runVerifyReviews(context: Context, { from, to, repair = false }: Options): Promise<Report> {
  const range = { ...(from && { from }), ...(to && { to }) };
  // Wrong days are reported before anything is opened.
  spanOfDays(range, context.config().api.timeZone);
  const progress = openProgress(context.terminal, 'verify reviews', 'windows');
  return withApp(context, progress, async (app) => {
    const deps = reviewDeps(app, context.signal);
    const report = await verifyReviews({ ...deps, onProgress: progress.update }, range, { repair });
    progress.stop();
    if (repair) await recount(app.warehouse.db);
    return { text: draw(report, repair), json: report, incomplete: !isFine(report) };
  });
}

const isFine = ({ differing, problems, repaired }: Verification) =>
  problems.length === 0 && (differing === 0 || repaired);

function draw(report: Verification, repair: boolean): string {
  const { differing, differences, unlisted, problems } = report;
  const columns = ['service', 'warehouse', 'missing', 'stale', 'extra'] as const;
  const listed = differences.slice(0, drawnAtMost).map(sentence);
  if (differing > listed.length) listed.push(`and ${formatCount(differing - listed.length)} more`);
  return [
    table(columns, [columns.map((column) => formatCount(report[column]))]),
    ...(unlisted > 0 ? [`${unlisted} reviews are in no list, but the service knows them: hidden, perhaps.`] : []),
    ...(listed.length > 0 ? [listed.join('\n')] : []),
    ...problems,
    conclusion(report, repair),
  ].join('\n\n');
}

function sentence({ id, kind, fields, day }: Found): string {
  const which = `review ${id ?? 'without a usable id'} of ${day ?? 'no day'}`;
  switch (kind) {
    case 'missing':
      return `${which} is not in the warehouse`;
    case 'stale':
      return `${which} differs in ${fields.join(', ')}`;
    case 'reverted':
      return (
        `${which} has an older updated_at at the service than in the warehouse, ` +
        `and differs in ${fields.join(', ')}`
      );
    case 'extra':
      return `${which} is gone from the service`;
    case 'refused':
      return `${which} cannot be held by the warehouse as it is; see dead-letters`;
    default:
      return kind satisfies never;
  }
}

function conclusion(report: Verification, repair: boolean): string {
  const { differing, repaired, unrepairable, problems } = report;
  if (differing === 0) {
    return problems.length === 0
      ? 'Service and warehouse hold the same reviews.'
      : 'No review is known to differ, but not all of them could be compared.';
  }
  const summary = `${formatCount(differing)} ${differing === 1 ? 'review differs' : 'reviews differ'}`;
  if (repaired) return `${summary}; all of them are repaired now.`;
  const stuck =
    unrepairable === 0
      ? ''
      : ` The warehouse cannot hold ${formatCount(unrepairable)} of them: see npx review-sync dead-letters`;
  if (unrepairable === differing) return `${summary}.${stuck}`;
  if (repair) return `${summary}; those that could be read are repaired now.${stuck}`;
  const masked = report.differences.filter(mayBeMasked).length;
  if (masked > 0) {
    return (
      `${summary}; ${formatCount(masked)} of them in their author, at one updated_at, as forget leaves them. ` +
      `Have these deleted at the service first: verify reviews --repair would bring the persons back.${stuck}`
    );
  }
  return `${summary}. To correct ${unrepairable === 0 ? 'this' : 'the others'}: npx review-sync verify reviews --repair${stuck && `.${stuck}`}`;
}

/** Whether the review differs as one that forget has masked. A change at the service moves its updated_at. */
const mayBeMasked = ({ kind, fields }: Found): boolean =>
  kind === 'stale' && fields.some((field) => field.startsWith('user_')) && !fields.includes('updated_at');
