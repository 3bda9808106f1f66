import type { App } from './app.ts';
import { type PlannedRun, plannedRuns } from './queue/schedules.ts';
import { countAbsent } from './warehouse/absent-reviews.ts';
import { coverageByMonth, type MonthCoverage } from './warehouse/coverage.ts';
import { type Cursor, type Flow, readCursor } from './warehouse/cursors.ts';
import { type DailyCounts, dailyCounts } from './warehouse/daily-counts.ts';
import { type DeadLetterGroup, groupDeadLetters } from './warehouse/dead-letters.ts';
import type { Db } from './warehouse/index.ts';
import { type Lateness, lateness } from './warehouse/lateness.ts';
import { partsOfRuns, type RunPart } from './warehouse/run-parts.ts';
import { lastRuns, newestEnded, type Run } from './warehouse/runs.ts';
import { type InboxState, inboxState } from './warehouse/webhook-inbox.ts';

export type FlowStatus = { flow: Flow; watermark: string | null; lagSeconds: number | null };

export type StatusReport = {
  /** When it was made. */
  at: Date;
  flows: FlowStatus[];
  /** From when on a lag is told by alert. */
  alertLagMinutes: number;
  coverage: MonthCoverage[];
  queue: { kind: 'redis' | 'postgres'; jobs: Record<string, Record<string, number>> };
  /** The newest runs, each with what every process did of it so far. */
  runs: (Run & { parts: RunPart[] })[];
  /** Of each job the newest run that has ended. */
  newest: Run[];
  deadLetters: DeadLetterGroup[];
  /** Reviews of the last thirty days that the service showed late; those of reconcile-reviews the overlap had missed. */
  late: Lateness[];
  /** Reviews that a reconcile did not find, and that were not yet confirmed to be gone. */
  suspectedGone: number;
  webhooks: InboxState;
  /** What each flow brought by day. */
  daily: DailyCounts[];
  scheduled: PlannedRun[];
};

/** One value that tells how everything stands; drawn by `status` and by whatever else shows it. Changes nothing. */
export async function statusReport(app: Pick<App, 'warehouse' | 'queues' | 'config' | 'now'>): Promise<StatusReport> {
  const { db } = app.warehouse;
  const now = app.now();
  return {
    at: now,
    flows: await Promise.all(
      (['orders', 'reviews'] as const).map(async (flow) => flowOf(flow, await readCursor(db, flow), now)),
    ),
    alertLagMinutes: app.config.alerts.lagMinutes,
    coverage: await coverageByMonth(db, app.config.api.timeZone),
    queue: { kind: app.queues.kind, jobs: await app.queues.counts() },
    runs: await runsWithParts(db),
    newest: await newestEnded(db),
    deadLetters: await groupDeadLetters(db),
    late: await lateness(db, new Date(now.getTime() - 30 * 86_400_000)),
    suspectedGone: await countAbsent(db),
    webhooks: await inboxState(db),
    daily: await dailyCounts(db, now),
    scheduled: await plannedRuns(app.queues),
  };
}

async function runsWithParts(db: Db): Promise<StatusReport['runs']> {
  const runs = await lastRuns(db, 20);
  const parts = await partsOfRuns(
    db,
    runs.map((run) => run.id),
  );
  return runs.map((run) => ({ ...run, parts: parts.get(run.id) ?? [] }));
}

function flowOf(flow: Flow, cursor: Cursor | undefined, now: Date): FlowStatus {
  if (!cursor) return { flow, watermark: null, lagSeconds: null };
  const instant = (text: string) => new Date(text.replace(' ', 'T').replace(/\+00$/, 'Z'));
  const at = instant(cursor.at);
  // What was there then has been read, however long ago the newest changed; before there was readTo, the newest must do.
  const lagMs = now.getTime() - instant(cursor.readTo ?? cursor.at).getTime();
  return {
    flow,
    watermark: Number.isNaN(at.getTime()) ? cursor.at : at.toISOString(),
    lagSeconds: Math.round(lagMs / 1000),
  };
}
