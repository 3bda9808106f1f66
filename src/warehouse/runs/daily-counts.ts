import { type Db, rowsOf } from '../index.ts';
import type { Flow } from './cursors.ts';

/** What a flow brought in the last 24 hours, in the 24 before, and so on for 15; null for a day without a run. */
export type DailyCounts = { flow: Flow; days: (number | null)[] };

/** Orders by what the runs pushed; reviews by their creation, as webhooks bring some before the runs do. */
export const dailyCounts = (db: Db, now: Date) => rowsOf<DailyCounts>(db, 'daily_counts', now);
