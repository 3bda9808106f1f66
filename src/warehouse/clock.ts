import { type Db, rowOf } from './index.ts';

/** The clock of the warehouse, for comparisons with dates that it wrote. */
export const warehouseNow = async (db: Db) => (await rowOf<{ now: Date }>(db)`select clock_timestamp() as now`).now;
