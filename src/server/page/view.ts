import type { Attention } from '../../attention.ts';
import type { StatusReport } from '../../status-report.ts';
import type { DayCoverage } from '../../warehouse/coverage.ts';
import type { LagPoint } from '../../warehouse/runs.ts';

/** What the page shows. */
export type View = {
  report: StatusReport;
  attention: readonly Attention[];
  /** Of the service: days and months are cut in it. */
  timeZone: string;
  /** Years that the service's reviews are of, the newest first, and the one whose days are shown. */
  years: readonly number[];
  year: number;
  days: readonly DayCoverage[];
  lag: readonly LagPoint[];
  /** What a button did. */
  notice: string | undefined;
};

/** `yyyy-mm-dd hh:mm:ss` in UTC. */
export const utc = (date: Date) => date.toISOString().slice(0, 19).replace('T', ' ');

export const count = (n: number) => n.toLocaleString('en');
