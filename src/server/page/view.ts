import type { Issue } from '../../app/issues.ts';
import type { StatusReport } from '../../app/status-report.ts';
import type { DayCoverage } from '../../warehouse/coverage.ts';
import type { LagPoint } from '../../warehouse/runs.ts';

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
  lag: readonly LagPoint[];
  /** The result of a button. */
  notice: string | undefined;
};
