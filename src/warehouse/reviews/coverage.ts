import { type Db, rowsOf } from '../index.ts';

/**
 * A calendar day `yyyy-mm-dd` in the zone of bi. `isHole`: it was not read completely, and is before the day on which
 * the last run of reviews began. A later day that is not read yet is no hole: the delay of the runs shows it.
 */
export type DayCoverage = { day: string; isRead: boolean; isHole: boolean; reviews: number };

/** bi.coverage_by_day and the number of reviews: the days between the bounds of the newest overview, in order. */
export const coverageByDay = (db: Db) => rowsOf<DayCoverage>(db, 'coverage_by_day');
