import type { Issue } from '../../app/issues.ts';
import type { RunProgress } from '../../app/run-progress.ts';
import type { StatusReport } from '../../app/status-report.ts';
import type { DayCoverage } from '../../warehouse/reviews/coverage.ts';
import type { History } from './charts.ts';

/** A run in progress. `plansInBatches`: it plans further steps when those of a batch have ended. */
export type RunInProgress = RunProgress & { plansInBatches: boolean };

/** Everything that the page shows. */
export type View = {
  report: StatusReport;
  issues: readonly Issue[];
  /** The service's zone, in which days and months begin. */
  timeZone: string;
  /** Years with reviews, the newest first, and the year whose days are shown. */
  years: readonly number[];
  year: number;
  days: readonly DayCoverage[];
  /** What the charts show, or why it could not be read. */
  history: History | { unknown: string };
  progress: readonly RunInProgress[];
  /** The result of a button. */
  notice: string | undefined;
};
