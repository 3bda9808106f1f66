import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Option } from 'commander';
import { syncCatalog } from '../../../jobs/sync-catalog.ts';
import { syncOrders } from '../../../jobs/sync-orders.ts';
import { syncReviews } from '../../../jobs/sync-reviews.ts';
import type { App } from '../../app/app.ts';
import { wholeNumber } from '../../app/config.ts';
import { formatCount } from '../../base/counts.ts';
import { IncompleteError } from '../../base/errors.ts';
import type { AnyRunJob, RunReport } from '../../runs/define-run.ts';
import { askWarehouse, countEnds, type End } from '../../sandbox/demo/ask.ts';
import { olist, type Source, sampleShop } from '../../sandbox/demo/sources.ts';
import { type Stage, setStage } from '../../sandbox/demo/stage.ts';
import { openMeasuredApp } from '../../server/measured-app.ts';
import { optionOf } from '../arguments.ts';
import type { Context, Define, Report, Traits } from '../command.ts';
import { startServing } from '../serve-brands.ts';
import { openProgress } from '../ui/progress.ts';
import { table } from '../ui/table.ts';
import { drawRun, runAndDraw } from '../with-app.ts';
import { workFor } from './worker-command.ts';

type Options = { keep?: true; data?: string; orders: number };

export const traits: Traits = { hasServers: true };

export const define: Define = (commander, run) => {
  commander
    .option('--data <folder>', 'use the Olist CSV files of the folder instead of a made-up shop (see examples/olist)')
    .option('--orders <n>', 'of the made-up shop, with 20 reviews for every 3', optionOf(wholeNumber(1, 999_999)), 3000)
    .option('--json', 'report as JSON')
    // The addresses are printed while everything runs, and a document at the end of a command.
    .addOption(new Option('--keep', 'leave everything running afterwards and print the addresses').conflicts('json'))
    .action((options: Options) => run((context) => play(context, options)));
};

async function play(context: Context, options: Options): Promise<Report | undefined> {
  const { say } = context.terminal;
  // Reviews of the minute before a run count as not read yet (`justNow`), and the demo would report one as missing.
  const now = new Date(Date.now() - 120_000);
  const source = options.data === undefined ? sampleShop(now, options.orders) : olist(options.data);
  await using opened = new AsyncDisposableStack();
  say(`Starting an embedded Postgres with ${source.title}.`);
  const stage = await setStage(opened, source);
  const measured = await openMeasuredApp(stage.config, await context.log('error'), opened);
  const { app } = measured;

  await writeReviews(context, app, stage, source);
  say('\n1. The service’s reviews land in the warehouse (this is `review-sync sync reviews`).');
  const runs = { reviews: await runOne(context, app, syncReviews, 'reviews', 'windows') };
  say('\n2. Categories, member grades and orders reach the service (`sync catalog`, `sync orders`). Orders older');
  say('   than 30 days are sent without e-mail and phone, so that no customer is mailed about an old purchase.');
  const catalog = await runOne(context, app, syncCatalog, 'catalog', 'parts');
  const orders = await runOne(context, app, syncOrders, 'orders', 'slices of orders');
  say('\n3. The same again: unchanged orders cost no request.');
  const again = await runOne(context, app, syncOrders, 'orders again', 'slices of orders');

  const answers = await askWarehouse(stage.urls.warehouse);
  const ends = await countEnds(
    { shop: stage.urls.shop, service: stage.urls.serviceDatabase, warehouse: stage.urls.warehouse },
    await readFile(join(stage.config.shop.sqlDir, 'orders.sql'), 'utf8'),
  );
  const missing = answers.find((answer) => answer.question === 'what is missing')?.rows.length ?? 1;
  const report: Report = {
    text: [...answers.map(drawAnswer), drawEnds(ends), afterwards].join('\n\n'),
    json: { runs: { ...runs, catalog, orders, again }, answers, ends },
    incomplete: missing > 0 || !areEndsEqual(ends),
  };
  if (!options.keep) return report;
  const page = await startServing(measured, opened);
  await stage.service.addReceiver(`${page}/webhooks/${stage.config.webhookSecret}`);
  process.stdout.write(`${[...answers.map(drawAnswer), drawEnds(ends), addresses(stage, page)].join('\n\n')}\n`);
  await workFor(measured, opened, {});
  if (!context.signal.aborted) await once(context.signal, 'abort');
  return undefined;
}

async function writeReviews(context: Context, app: App, stage: Stage, source: Source): Promise<void> {
  if (!source.writeReviews) return;
  context.terminal.say('\n0. Customers write their reviews: pushed into the service through its interface.');
  const progress = openProgress(context.terminal, 'reviews written', 'reviews');
  await source.writeReviews(app.api, stage.urls.shop, progress.update);
  progress.stop();
}

async function runOne(context: Context, app: App, job: AnyRunJob, label: string, unit: string): Promise<RunReport> {
  const progress = openProgress(context.terminal, `sync ${label}`, unit);
  const report = await runAndDraw(context, progress, app, { job }).finally(progress.stop);
  const drawn = drawRun(`   ${label}`, report);
  context.terminal.say(drawn.text);
  if (drawn.incomplete) throw new IncompleteError(`the demo's run of ${label} was not complete: ${report.error}`);
  return report;
}

function drawAnswer({ question, sql, columns, rows }: Awaited<ReturnType<typeof askWarehouse>>[number]): string {
  const answer = rows.length === 0 ? '(no row: nothing)' : table(columns, rows);
  return `── ${question} ${'─'.repeat(Math.max(0, 76 - question.length))}\n\n${indent(sql)}\n\n${answer}`;
}

const indent = (text: string) => text.replaceAll(/^(?=.)/gm, '    ');

function drawEnds(ends: readonly End[]): string {
  const rows = ends.map((end) => [end.what, end.where, formatCount(end.count), end.keys.slice(0, 8)]);
  const result = areEndsEqual(ends) ? 'The same records at both ends.' : 'THE ENDS DIFFER: see the hashes above.';
  return (
    `── counted at both ends ${'─'.repeat(56)}\n\n` +
    `${table(['what', 'where', 'count', 'hash of the keys'], rows)}\n\n${result}`
  );
}

function areEndsEqual(ends: readonly End[]): boolean {
  return [...Map.groupBy(ends, (end) => end.what).values()].every(
    (same) => new Set(same.map((end) => end.keys)).size === 1,
  );
}

const afterwards =
  'Everything ran on this machine, in temporary folders that are deleted now. Keep it running with: ' +
  'npm run demo -- --keep';

function addresses({ urls, database, config }: Stage, page: string): string {
  const rows = [
    ['the status page', `${page}  (any user, password: ${config.statusToken})`],
    ['the warehouse, for psql and BI tools', urls.warehouse],
    ['the shop’s database', urls.shop],
    ['the review service', `${urls.service}  (client id and secret: demo)`],
    ['its database', urls.serviceDatabase],
    ['files', database.directory],
  ];
  const running =
    'Everything keeps running: the worker runs its schedules, and webhooks of the service report changes within seconds.';
  return `${running} Ctrl-C ends and deletes it.\n\n${table(['what', 'address'], rows)}`;
}
