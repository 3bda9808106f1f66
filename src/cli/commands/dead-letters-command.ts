import { syncCatalog } from '../../../jobs/sync-catalog.ts';
import type { App } from '../../app/app.ts';
import { utc } from '../../app/status-view.ts';
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
import type { Db } from '../../warehouse/index.ts';
import { numberOf } from '../arguments.ts';
import type { Command, Context, Report } from '../command.ts';
import { drawRun, drawToEnd } from '../draw-run.ts';
import type { Progress } from '../ui/progress.ts';
import { table } from '../ui/table.ts';
import { inWarehouse, withApp } from '../with-app.ts';

export const command: Command = {
  define(commander, run) {
    commander
      .command('list', { isDefault: true })
      .description('open dead letters, by reason')
      .action(() => run(list));
    commander
      .command('show <id>')
      .description('one dead letter with its record, which may hold customers’ data')
      .action((id: string) => run((context) => show(context, parseId(id)), 'one'));
    commander
      .command('retry [ids...]')
      .description('retry open dead letters, all or these; discarded ones by their ids')
      .action((ids: string[]) => run((context) => retry(context, ids.map(parseId)), ids.length > 0 ? 'one' : 'each'));
    commander
      .command('discard <ids...>')
      .description(
        'close these without syncing them; each stays closed until its record is synced or fails for another reason',
      )
      .action((ids: string[]) => run((context) => discard(context, ids.map(parseId)), 'one'));
  },
};

/** The first three of so many. */
const some = (all: readonly unknown[], count: number, between: string) =>
  all.slice(0, 3).join(between) + (count > 3 ? ' …' : '');

const list = (context: Context): Promise<Report> =>
  inWarehouse(context, async ({ db }) => {
    const groups = await groupDeadLetters(db);
    if (groups.length === 0) return { text: 'No dead letters.', json: [] };
    const rows = groups.map(({ kind, count, records, ids, lastFailedAt, reason }) => [
      kind,
      String(count),
      some([...new Set(records)], count, ', '),
      some(ids, count, ' '),
      utc(lastFailedAt),
      reason,
    ]);
    const next =
      'Show one: review-sync dead-letters show <id>. Corrected records are synced by the next run, or at once by: retry.';
    const head = ['kind', 'count', 'records', 'ids', 'last failed (UTC)', 'reason'];
    return { text: `${table(head, rows)}\n\n${next}`, json: groups };
  });

/** @throws UsageError if one of the ids is of no dead letter. */
async function requireKnown(db: Db, ids: readonly number[]): Promise<DeadLetter[]> {
  const found = await deadLettersById(db, ids);
  const unknown = ids.find((id) => !found.some((one) => one.id === id));
  if (unknown === undefined) return found;
  throw new UsageError(`There is no dead letter ${unknown}`, { hint: 'See: review-sync dead-letters' });
}

const show = (context: Context, id: number): Promise<Report> =>
  inWarehouse(context, async ({ db }) => {
    const [found] = await requireKnown(db, [id]);
    const deadLetter = { ...found, payload: await payloadOf(db, id) };
    return { text: JSON.stringify(deadLetter, null, 2), json: deadLetter };
  });

const discard = (context: Context, ids: number[]): Promise<Report> =>
  inWarehouse(context, async ({ db }) => {
    await requireKnown(db, ids);
    const discarded = await discardDeadLetters(db, ids);
    return { text: `${discarded} of ${ids.length} discarded.`, json: { discarded } };
  });

/** Retries all that are open, or those of the records of `ids`. */
const retry = (context: Context, ids: number[]): Promise<Report> =>
  withApp(context, { label: 'retry', unit: 'parts' }, (app, progress) => retryOf(context, app, progress, ids));

async function retryOf(context: Context, app: App, progress: Progress, ids: number[]): Promise<Report> {
  const { db } = app.warehouse;
  const named = await requireKnown(db, ids);
  await reopenDiscarded(db, ids);
  // The record of one that is closed may be open under another id.
  const isNamed = ({ kind, key }: DeadLetter) =>
    ids.length === 0 || named.some((one) => one.kind === kind && one.key === key);
  const tried = (await openDeadLetters(db)).filter(isNamed);
  const discarded = named.filter((one) => one.isDiscarded && !tried.some(({ id }) => id === one.id));
  let catalog: RunReport | undefined;
  const codes = await retryDeadLetters(app, tried, context.signal, async () => {
    catalog = await drawToEnd(context, progress, app, { job: syncCatalog });
  });
  const open = await openDeadLetters(db);
  const resolved = tried.filter(({ id }) => !open.some((one) => one.id === id)).length;
  const failed = catalog && catalog.outcome !== 'done' ? [drawRun('sync catalog', catalog).text] : [];
  const kept = discarded.map(({ id }) => `Not retried: ${id} is discarded, and a webhook keeps nothing to retry then.`);
  const result = `${resolved} of ${counted(tried.length, 'record')}: synced, or gone from the shop. `;
  const left = `Open: ${open.length}${open.length > 0 ? '; see: review-sync dead-letters' : '.'}`;
  // An order that can be read again may have a line that cannot.
  const isTried = (one: DeadLetter) => isNamed(one) || (one.orderCode !== null && codes.includes(one.orderCode));
  return {
    text: [...failed, result + left, ...kept].join('\n'),
    json: { tried: tried.length, resolved, open: open.length, ...(catalog && { catalog }) },
    incomplete: failed.length + kept.length > 0 || open.some(isTried),
  };
}

const parseId = (text: string) => numberOf(text, 'a dead letter');
