import { Option } from 'commander';
import { wholeNumber } from '../../app/config.ts';
import { IncompleteError } from '../../base/errors.ts';
import { openReviewApi } from '../../review-api/index.ts';
import { askWarehouse } from '../../sandbox/demo/ask.ts';
import { olist, type Source, sampleShop } from '../../sandbox/demo/sources.ts';
import { type Stage, setStage } from '../../sandbox/demo/stage.ts';
import { optionOf } from '../arguments.ts';
import type { Context, Define, Report, Traits } from '../command.ts';
import { runProgram } from '../program.ts';
import { openProgress } from '../ui/progress.ts';
import { table } from '../ui/table.ts';

type Options = { keep?: true; data?: string; orders: number };

export const traits: Traits = { hasServers: true };

export const define: Define = (commander, run) => {
  commander
    .option('--data <folder>', 'use the Olist CSV files of the folder instead of a made-up shop (see examples/olist)')
    .option('--orders <n>', 'of the made-up shop, with 20 reviews for every 3', optionOf(wholeNumber(1, 999_999)), 3000)
    .option('--json', 'report the answers as JSON')
    // The addresses are printed while everything runs, and a document at the end of a command.
    .addOption(new Option('--keep', 'leave everything running afterwards and print the addresses').conflicts('json'))
    .action((options: Options) => run((context) => play(context, options)));
};

/** The commands of the demo, as a user would call them, and what each of them shows. */
const story = [
  ['The service’s reviews land in the warehouse.', 'sync reviews'],
  ['Categories and member grades reach the service.', 'sync catalog'],
  [
    'Orders reach the service. Those older than 30 days are sent without e-mail and phone, so that no customer is\n' +
      'mailed about an old purchase.',
    'sync orders',
  ],
  ['The same again: unchanged orders cost no request.', 'sync orders'],
  ['Both ends are compared, order by order and review by review.', 'verify orders'],
  ['', 'verify reviews'],
] as const;

async function play(context: Context, options: Options): Promise<Report | undefined> {
  const { say } = context.terminal;
  // Reviews of the minute before a run count as not read yet (`justNow`), and the demo would report one as missing.
  const now = new Date(Date.now() - 120_000);
  const source = options.data === undefined ? sampleShop(now, options.orders) : olist(options.data);
  await using opened = new AsyncDisposableStack();
  say(`Starting an embedded Postgres with ${source.title}.`);
  const stage = await setStage(opened, source);
  await writeReviews(context, stage, source);
  for (const [about, command] of story) {
    if (about) say(`\n${about}`);
    await runCommand(context, stage, command);
  }
  const answers = await askWarehouse(stage.urls.warehouse);
  const text = answers.map(drawAnswer).join('\n\n');
  if (!options.keep) return { text: `${text}\n\n${afterwards}`, json: { answers } };
  const page = `http://127.0.0.1:${stage.config.port}`;
  await stage.service.addReceiver(`${page}/webhooks/${stage.config.webhookSecret}`);
  say(`\n${text}\n\n${addresses(stage, page)}`);
  await Promise.all(['worker', 'serve'].map((command) => runCommand(context, stage, command)));
  return undefined;
}

/** @throws IncompleteError if the command ends with another status than 0. */
async function runCommand({ terminal, signal }: Context, { environment }: Stage, command: string): Promise<void> {
  terminal.say(`$ review-sync ${command}`);
  const write = (text: string) => terminal.say(text.trimEnd());
  const status = await runProgram({
    args: command.split(' '),
    readEnvironment: () => environment,
    signal,
    writeOut: write,
    writeError: write,
    isTerminal: false,
    isOneOutput: true,
  });
  if (status !== 0) throw new IncompleteError(`review-sync ${command} ended with status ${status}`);
}

async function writeReviews({ terminal }: Context, { config, urls }: Stage, source: Source): Promise<void> {
  if (!source.writeReviews) return;
  terminal.say('\nCustomers write their reviews: pushed into the service through its interface.');
  await using api = openReviewApi(config.api);
  const progress = openProgress(terminal, 'reviews written', 'reviews');
  await source.writeReviews(api, urls.shop, progress.update);
  progress.stop();
}

function drawAnswer({ question, sql, columns, rows }: Awaited<ReturnType<typeof askWarehouse>>[number]): string {
  const answer = rows.length === 0 ? '(no row: nothing)' : table(columns, rows);
  return `── ${question} ${'─'.repeat(Math.max(0, 76 - question.length))}\n\n${indent(sql)}\n\n${answer}`;
}

const indent = (text: string) => text.replaceAll(/^(?=.)/gm, '    ');

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
