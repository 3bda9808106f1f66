import { InvalidArgumentError } from 'commander';
import { retryLetters } from '../../jobs/retry-letters.ts';
import { type App, openApp } from '../app.ts';
import { UsageError } from '../errors.ts';
import { discardDeadLetters, findDeadLetters, groupDeadLetters } from '../warehouse/dead-letters.ts';
import type { Command, Context, Report } from './command.ts';
import { openProgress } from './progress.ts';
import { runToEnd } from './run-to-end.ts';
import { table } from './table.ts';

export const deadLetters: Command = {
  name: 'dead-letters',
  summary: 'what could not be synced and why: list, show, retry, discard',
  define(commander, run) {
    const within = (work: (context: Context, app: App) => Promise<Report>) =>
      run(async (context) => {
        const app = await openApp(context.config(), { log: context.log('error') });
        try {
          return await work(context, app);
        } finally {
          await app.close();
        }
      });
    commander
      .command('list', { isDefault: true })
      .description('the open ones, by reason')
      .option('--json', 'report as JSON')
      .action(() => within((_, app) => list(app)));
    commander
      .command('show <id>')
      .description('one, whole; it may hold customers’ data')
      .option('--json', 'report as JSON')
      .action((id: string) => within((_, app) => show(app, idOf(id))));
    commander
      .command('retry [ids...]')
      .description('try the open ones again, all or those named')
      .option('--json', 'report as JSON')
      .action((ids: string[]) => within((context, app) => retry(context, app, ids.map(idOf))));
    commander
      .command('discard <ids...>')
      .description('close these without syncing them')
      .option('--json', 'report as JSON')
      .action((ids: string[]) => within((_, app) => discard(app, ids.map(idOf))));
  },
};

async function list(app: App): Promise<Report> {
  const groups = await groupDeadLetters(app.warehouse.db);
  if (groups.length === 0) return { text: 'No dead letters.', json: [] };
  const rows = groups.map((group) => [
    group.kind,
    String(group.count),
    group.ids.slice(0, 3).join(' ') + (group.count > 3 ? ' …' : ''),
    group.lastFailedAt.toISOString().slice(0, 19),
    group.reason,
  ]);
  const text = [
    table(['kind', 'records', 'ids', 'last failed (UTC)', 'reason'], rows),
    'See one with: npx review-sync dead-letters show <id>. Once mended they go by themselves, or at once with: retry.',
  ].join('\n\n');
  return { text, json: groups };
}

async function show(app: App, id: number): Promise<Report> {
  const [letter] = await findDeadLetters(app.warehouse.db, { ids: [id] });
  if (!letter) throw new UsageError(`There is no dead letter ${id}`, { hint: 'See: npx review-sync dead-letters' });
  return { text: JSON.stringify(letter, null, 2), json: letter };
}

async function discard(app: App, ids: number[]): Promise<Report> {
  const discarded = await discardDeadLetters(app.warehouse.db, ids);
  return { text: `${discarded} of ${ids.length} discarded.`, json: { discarded } };
}

async function retry(context: Context, app: App, ids: number[]): Promise<Report> {
  const { db } = app.warehouse;
  const found = await findDeadLetters(db, ids.length > 0 ? { ids } : {});
  const letters = found.filter((letter) => letter.resolvedAt === null);
  const progress = openProgress(context.terminal, 'retry', 'parts', Date.now);
  const following = { progress, signal: context.signal };
  await retryLetters(app, letters, async (job) => void (await runToEnd(app, { job, payload: {} }, following)));
  const after = await findDeadLetters(db, { ids: [0, ...letters.map((letter) => letter.id)] });
  const resolved = after.filter((letter) => letter.resolvedAt !== null).length;
  const open = (await findDeadLetters(db, {})).length;
  const text = `${resolved} of ${letters.length} went through. ${open} are open${open > 0 ? '; see: npx review-sync dead-letters' : '.'}`;
  return { text, json: { tried: letters.length, resolved, open }, incomplete: resolved < letters.length };
}

function idOf(text: string): number {
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw new InvalidArgumentError(`${JSON.stringify(text)} is no id of a dead letter, expected a number`);
}
