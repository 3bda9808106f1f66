import { syncCatalog } from '../../../jobs/sync-catalog.ts';
import { requireKnown, retryDeadLetters } from '../../app/retry-dead-letters.ts';
import { utc } from '../../app/status-view.ts';
import { counted } from '../../base/counts.ts';
import type { RunReport } from '../../runs/define-run.ts';
import { discardDeadLetters, groupDeadLetters, payloadOf } from '../../warehouse/dead-letters.ts';
import { numberOf } from '../arguments.ts';
import type { Context, Define, Report } from '../command.ts';
import { table } from '../ui/table.ts';
import { drawRun, inWarehouse, runAndDraw, withApp } from '../with-app.ts';

export const define: Define = (commander, run) => {
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
    .description('close these without syncing them, until their record is synced or fails for another reason')
    .action((ids: string[]) => run((context) => discard(context, ids.map(parseId)), 'one'));
};

/** The first three of `count` items. */
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

const retry = (context: Context, ids: number[]): Promise<Report> =>
  withApp(context, { label: 'retry', unit: 'parts' }, async (app, progress) => {
    let catalog: RunReport | undefined;
    const retried = await retryDeadLetters(app, ids, context.signal, async () => {
      catalog = await runAndDraw(context, progress, app, { job: syncCatalog });
    });
    const { tried, resolved, open, isFailing, notRetried } = retried;
    const failed = catalog && catalog.outcome !== 'done' ? [drawRun('sync catalog', catalog).text] : [];
    const left = `Open: ${open}${open > 0 ? '; see: review-sync dead-letters' : '.'}`;
    const lines = [
      ...failed,
      `${resolved} of ${counted(tried, 'record')}: synced, or gone from the shop. ${left}`,
      ...notRetried.map((id) => `Not retried: ${id} is discarded, and a webhook keeps nothing to retry then.`),
    ];
    return {
      text: lines.join('\n'),
      json: { tried, resolved, open, ...(catalog && { catalog }) },
      incomplete: isFailing || failed.length + notRetried.length > 0,
    };
  });

const parseId = (text: string) => numberOf(text, 'a dead letter');
