import { syncCatalog } from '../../../jobs/sync-catalog.ts';
import type { App } from '../../app/app.ts';
import { retryDeadLetters } from '../../background/retry-dead-letters.ts';
import { counted } from '../../base/counts.ts';
import { UsageError } from '../../base/errors.ts';
import type { RunReport } from '../../runs/job.ts';
import {
  type DeadLetter,
  deadLettersById,
  discardDeadLetters,
  groupDeadLetters,
  openDeadLetters,
  payloadOf,
  reopenDiscarded,
} from '../../warehouse/dead-letters.ts';
import type { Command, Context, Reach, Report } from '../command.ts';
import { openProgress } from '../ui/progress.ts';
import { drawRun, drawToEnd } from '../ui/run-to-end.ts';
import { table } from '../ui/table.ts';
import { withApp } from '../ui/with-app.ts';

export const command: Command = {
  define(commander, run) {
    const within = (work: (context: Context, app: App) => Promise<Report>, reach?: Reach) =>
      run((context) => withApp(context, undefined, (app) => work(context, app)), reach);
    commander
      .command('list', { isDefault: true })
      .description('open dead letters, by reason')
      .action(() => within((_, app) => list(app)));
    commander
      .command('show <id>')
      .description('one dead letter with its record, which may hold customers’ data')
      .action((id: string) => within((_, app) => show(app, parseId(id)), 'one'));
    commander
      .command('retry [ids...]')
      .description('retry open dead letters, all or these; discarded ones by their ids')
      .action((ids: string[]) =>
        within((context, app) => retry(context, app, ids.map(parseId)), ids.length > 0 ? 'one' : 'each'),
      );
    commander
      .command('discard <ids...>')
      .description(
        'close these without syncing them; each stays closed until its record is synced or fails for another reason',
      )
      .action((ids: string[]) => within((_, app) => discard(app, ids.map(parseId)), 'one'));
  },
};

async function list(app: App): Promise<Report> {
  const groups = await groupDeadLetters(app.warehouse.db);
  if (groups.length === 0) return { text: 'No dead letters.', json: [] };
  const rows = groups.map((group) => [
    group.kind,
    String(group.count),
    [...new Set(group.records)].slice(0, 3).join(', ') + (group.count > 3 ? ' …' : ''),
    group.ids.slice(0, 3).join(' ') + (group.count > 3 ? ' …' : ''),
    group.lastFailedAt.toISOString().slice(0, 19),
    group.reason,
  ]);
  const text = [
    table(['kind', 'count', 'records', 'ids', 'last failed (UTC)', 'reason'], rows),
    'Show one: review-sync dead-letters show <id>. ' +
      'Corrected records are synced by the next run, or at once by: retry.',
  ].join('\n\n');
  return { text, json: groups };
}

/** @throws UsageError if one of the ids is of no dead letter. */
async function requireKnown(app: App, ids: readonly number[]): Promise<DeadLetter[]> {
  const found = await deadLettersById(app.warehouse.db, ids);
  const unknown = ids.find((id) => !found.some((one) => one.id === id));
  if (unknown === undefined) return found;
  throw new UsageError(`There is no dead letter ${unknown}`, { hint: 'See: review-sync dead-letters' });
}

async function show(app: App, id: number): Promise<Report> {
  const [found] = await requireKnown(app, [id]);
  const deadLetter = { ...found, payload: await payloadOf(app.warehouse.db, id) };
  return { text: JSON.stringify(deadLetter, null, 2), json: deadLetter };
}

async function discard(app: App, ids: number[]): Promise<Report> {
  await requireKnown(app, ids);
  const discarded = await discardDeadLetters(app.warehouse.db, ids);
  return { text: `${discarded} of ${ids.length} discarded.`, json: { discarded } };
}

async function retry(context: Context, app: App, ids: number[]): Promise<Report> {
  const { db } = app.warehouse;
  await requireKnown(app, ids);
  await reopenDiscarded(db, ids);
  const found = ids.length > 0 ? await deadLettersById(db, ids) : await openDeadLetters(db);
  const deadLetters = found.filter((deadLetter) => deadLetter.resolvedAt === null);
  const progress = openProgress(context.terminal, 'retry', 'parts');
  let catalog: RunReport | undefined;
  const codes = await retryDeadLetters(app, deadLetters, context.signal, async () => {
    // With an App of its own: the end of that one aborts what it sends.
    catalog = await withApp(context, progress, (own) => drawToEnd(context, progress, own, { job: syncCatalog }));
  });
  const after = await deadLettersById(
    db,
    deadLetters.map(({ id }) => id),
  );
  const resolved = after.filter((deadLetter) => deadLetter.resolvedAt !== null).length;
  const allOpen = await openDeadLetters(db);
  const open = allOpen.length;
  // An order that can be read again may have a line that cannot.
  const isTried = ({ id, orderCode }: DeadLetter) =>
    ids.length === 0 || ids.includes(id) || (orderCode !== null && codes.includes(orderCode));
  const closed = found.filter(({ resolvedAt }) => resolvedAt !== null);
  const openNow = ({ kind, key }: DeadLetter) => allOpen.find((one) => one.kind === kind && one.key === key);
  const whyClosed = (one: DeadLetter) => {
    const again = openNow(one);
    if (again) return `${one.id} is closed, and its record open as ${again.id}.`;
    return one.isDiscarded
      ? `${one.id} is discarded, and a webhook cannot be retried then.`
      : `${one.id} is closed already: synced, or gone.`;
  };
  const drawn = catalog && catalog.outcome !== 'done' ? `${drawRun('sync catalog', catalog).text}\n` : '';
  const text =
    `${drawn}${resolved} of ${counted(deadLetters.length, 'record')}: synced, or gone from the shop. ` +
    `Open: ${open}${open > 0 ? '; see: review-sync dead-letters' : '.'}` +
    closed.map((one) => `\nNot retried: ${whyClosed(one)}`).join('');
  const json = { tried: deadLetters.length, resolved, open, ...(catalog && { catalog }) };
  return {
    text,
    json,
    incomplete: drawn !== '' || allOpen.some(isTried) || closed.some((one) => one.isDiscarded || openNow(one)),
  };
}

function parseId(text: string): number {
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw new UsageError(`${JSON.stringify(text)} is not the id of a dead letter, expected a number`);
}
