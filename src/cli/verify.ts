import { openApp } from '../app.ts';
import { secondsOf } from '../day-range.ts';
import { type Found, type Verification, verifyReviews } from '../reviews/verify-reviews.ts';
import type { Command, Context, Report } from './command.ts';
import { openProgress } from './progress.ts';
import { table } from './table.ts';

type Options = { from?: string; to?: string; repair?: boolean };

/** Differences that are listed one by one; all are counted. */
const listedAtMost = 20;

export const verify: Command = {
  name: 'verify',
  summary: 'compare service and warehouse, review by review',
  define(commander, run) {
    commander
      .command('reviews')
      .description('which reviews the warehouse lacks, holds in an older version, or holds although they are gone')
      .option('--from <day>', 'first day of creation, yyyy-mm-dd in the service’s time zone (default: all)')
      .option('--to <day>', 'last day, inclusive')
      .option('--repair', 'bring in what is missing or stale, and mark deleted what the service says is gone')
      .option('--json', 'report as JSON')
      .addHelpText('after', '\nExit status 1 when anything differs and was not repaired.')
      .action((options: Options) => run((context) => runVerify(context, options)));
  },
};

async function runVerify(context: Context, { from, to, repair = false }: Options): Promise<Report> {
  const config = context.config();
  const range = { ...(from && { from }), ...(to && { to }) };
  // Wrong days are told before anything is opened.
  secondsOf(range, config.api.timeZone);
  const progress = openProgress(context.terminal, 'verify reviews', 'windows', Date.now);
  const onWait = ({ reason, untilMs }: { reason: string; untilMs: number }) => progress.wait(reason, untilMs);
  const app = await openApp(config, { log: context.log('error'), onWait });
  try {
    const { api, warehouse, lanes, now } = app;
    const { timeZone } = config.api;
    const deps = { reviews: api.reviews, warehouse, lanes, now, timeZone, signal: context.signal };
    const report = await verifyReviews({ ...deps, onProgress: progress.update }, range, { repair });
    progress.stop();
    return { text: draw(report), json: report, incomplete: !isFine(report) };
  } finally {
    await app.close();
  }
}

const isFine = ({ differences, problems, repaired }: Verification) =>
  problems.length === 0 && (differences.length === 0 || repaired);

function draw(report: Verification): string {
  const { months, differences, unlisted, problems } = report;
  const n = (count: number) => (count === 0 ? '' : count.toLocaleString('en'));
  const rows = months.map((row) => [
    ...[row.month, row.service.toLocaleString('en'), row.warehouse.toLocaleString('en')],
    ...[n(row.missing), n(row.stale), n(row.extra)],
  ]);
  const listed = differences.slice(0, listedAtMost).map(sentence);
  if (differences.length > listed.length) listed.push(`and ${differences.length - listed.length} more`);
  return [
    table(['month', 'service', 'warehouse', 'missing', 'stale', 'extra'], rows),
    ...(unlisted > 0 ? [`${unlisted} reviews are in no list, but the service knows them: hidden, perhaps.`] : []),
    ...(listed.length > 0 ? [listed.join('\n')] : []),
    ...problems,
    conclusion(report),
  ].join('\n\n');
}

function sentence({ id, kind, fields, month }: Found): string {
  const which = `review ${id ?? 'without an id'} (${month})`;
  switch (kind) {
    case 'missing':
      return `${which} is not in the warehouse`;
    case 'stale':
      return `${which} differs in ${fields.join(', ')}`;
    case 'extra':
      return `${which} is gone from the service`;
    case 'refused':
      return `${which} cannot be held by the warehouse as it is; see dead-letters`;
    default:
      return kind satisfies never;
  }
}

function conclusion(report: Verification): string {
  const { differences, repaired } = report;
  if (isFine(report) && differences.length === 0) return 'Service and warehouse hold the same reviews.';
  const told = `${differences.length.toLocaleString('en')} reviews differ`;
  if (repaired) return `${told}; all of them are repaired now.`;
  return `${told}. To mend it: npx review-sync verify reviews --repair`;
}
