import type { Issue } from '../../alerts/post-issues.ts';
import { issuesOf } from '../../app/alert-rules.ts';
import { queuesOf } from '../../app/app.ts';
import { isWhole } from '../../app/config.ts';
import { type StatusReport, statusReport } from '../../app/status-report.ts';
import { progressText, type StatusTable, statusNotes, statusTables } from '../../app/status-view.ts';
import type { Context, Define, Report } from '../command.ts';
import { blocks, lines, table } from '../ui/table.ts';
import { inWarehouse } from '../with-app.ts';

export const define: Define = (commander, run) => {
  commander.action(() => run(status));
};

const status = (context: Context): Promise<Report> =>
  inWarehouse(context, async (warehouse) => {
    const config = context.warehouseConfig();
    await using opened = new AsyncDisposableStack();
    const open = async () => opened.use(await queuesOf(warehouse, config));
    const queues = isWhole(config) ? await open().catch((error: Error) => error) : undefined;
    const report = await statusReport({ warehouse, config, now: () => new Date(), queues });
    const issues = issuesOf(report);
    const incomplete = report.queue.error !== undefined;
    return { json: { ...report, issues }, text: draw(report, issues), incomplete };
  });

/** Times are in UTC. */
function draw(report: StatusReport, issues: readonly Issue[]): string {
  const tables = Object.values(statusTables({ ...report, runs: report.runs.slice(0, 10) }));
  const progress = report.inProgress.map((one) => `${one.run.job}: ${progressText(one, report.at)}`);
  const found = issues.map(({ what, hint }) => `  ${what}\n    → ${hint}`);
  const head = found.length === 0 ? 'All is well.' : lines('Issues:', ...found);
  return blocks(head, ...tables.map(drawSection), ...progress, ...statusNotes(report));
}

const drawSection = ({ title, head, rows, unknown = 'none' }: StatusTable): string =>
  rows.length === 0 ? `${title}: ${unknown}` : `${title}\n${table(head, rows)}`;
