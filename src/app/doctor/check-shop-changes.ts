import type { Shop } from '../../shop/index.ts';
import { zoneHint } from './check-shop-values.ts';
import { type Finding, warning } from './finding.ts';

/** Dates of change that runs cannot work with: dates in the future, and dates without a time of day. */
export async function checkChanges(shop: Shop, now: string): Promise<Finding[]> {
  const column = (await shop.hasFeed()) ? feedColumn : ordersColumn;
  const ahead = column === feedColumn ? await changesAhead(shop, now) : [];
  return [...ahead, ...checkTimesOfDay(column, await newestChanges(shop, now))];
}

type DateColumn = { file: string; name: string };
const feedColumn: DateColumn = { file: 'changed_orders.sql', name: 'changed_at' };
const ordersColumn: DateColumn = { file: 'orders.sql', name: 'updated_at' };

/** A change dated ahead is read again by each run until its time has come. */
async function changesAhead(shop: Shop, now: string): Promise<Finding[]> {
  const { keys } = await shop.changedSince({ at: minutesFrom(now, 1), code: '' }, 1000);
  const [first] = keys;
  if (first === undefined) return [];
  const what = `changed_orders.sql: ${keys.length} orders have a changed_at in the future, such as ${first.at} (order ${first.code})`;
  return [warning(what, `correct the rows, or say the zone: ${zoneHint('changed_at', shop.dialect)}`)];
}

/** Fewer changes prove nothing about the time of day. */
const leastChanges = 10;

/** Dates of up to 1000 changes of the last two days; of the last 30 days where those are too few. */
async function newestChanges(shop: Shop, now: string): Promise<string[]> {
  const since = async (days: number) => {
    const { keys } = await shop.changedSince({ at: minutesFrom(now, -days * 1440), code: '' }, 1000);
    return keys.map(({ at }) => at);
  };
  const newest = await since(2);
  return newest.length < leastChanges ? since(30) : newest;
}

const minutesFrom = (at: string, minutes: number) => new Date(Date.parse(at) + minutes * 60_000).toISOString();

/**
 * Whether a date of change is a day without a time: all changes have one time of day, a midnight of some zone. Incremental runs
 * begin at the time of the last change they saw, so that they would pass over changes of the same day.
 *
 * @param dates ISO 8601 in UTC.
 */
export function checkTimesOfDay({ file, name }: DateColumn, dates: readonly string[]): Finding[] {
  const times = new Set(dates.map((date) => date.slice(10)));
  const [time = ''] = times;
  // Midnight of each zone is at a quarter of an hour in UTC.
  if (dates.length < leastChanges || times.size > 1 || !/^T\d\d:(00|15|30|45):00(\.0+)?Z$/.test(time)) return [];
  const what = `${file}: all of the newest ${dates.length} changes have a ${name} at one time of day, such as ${dates.at(-1)}: a day without a time. Runs pass over changes of the day of the first push, and later read all changes of the day each time`;
  return [warning(what, `select the stored date with its time, without a cast to date, as ${name}`)];
}
