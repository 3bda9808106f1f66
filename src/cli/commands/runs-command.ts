import { queuesOf } from '../../app/app.ts';
import { mayDo } from '../../app/run-rights.ts';
import { utc } from '../../app/status-view.ts';
import { UsageError } from '../../base/errors.ts';
import { endRun } from '../../runs/end-run.ts';
import { warehouseNow } from '../../warehouse/index.ts';
import { isAttended, openRuns } from '../../warehouse/runs/runs.ts';
import type { Context, Define, Report } from '../command.ts';
import { table } from '../ui/table.ts';
import { inWarehouse } from '../with-app.ts';

export const define: Define = (commander, run) => {
  commander
    .command('list', { isDefault: true })
    .description('runs that have not ended, what they may do, and whether a process carries them out')
    .action(() => run(list));
  commander
    .command('end <id>')
    .description('end a run: what waits of it is not carried out any more; work that is done is kept')
    .action((id: string) => run((context) => end(context, id), 'one'));
};

const list = (context: Context): Promise<Report> =>
  inWarehouse(context, async ({ db }) => {
    const runs = await openRuns(db);
    if (runs.length === 0) return { text: 'Every run has ended.', json: [] };
    const now = await warehouseNow(db);
    const rows = runs.map((run) => [
      run.id,
      utc(run.startedAt),
      isAttended(run, now) ? 'a process' : 'nobody',
      mayDo(run),
    ]);
    const next = 'review-sync worker continues what nobody carries out. End one: review-sync runs end <id>.';
    return { text: `${table(['run', 'started (UTC)', 'carried out by', 'may do'], rows)}\n\n${next}`, json: runs };
  });

/** Needs neither shop nor service nor queue: one of them may be the reason to end the run. */
const end = (context: Context, id: string): Promise<Report> =>
  inWarehouse(context, async (warehouse) => {
    // Open the queue after the row has ended: a queue that hangs delays only the drop.
    const drop = async (runId: string) => {
      await using queues = await queuesOf(warehouse, context.warehouseConfig());
      await queues.drop(runId);
    };
    if (await endRun({ warehouse, queues: { drop } }, id, 'a person ended it: runs end')) {
      return { text: `${id} is ended. Nothing is lost: the next run reads the same again.`, json: { ended: id } };
    }
    throw new UsageError(`No open run has the id ${JSON.stringify(id)}`, { hint: 'See: review-sync runs' });
  });
