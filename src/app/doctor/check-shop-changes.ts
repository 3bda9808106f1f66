import type { Shop } from '../../shop/index.ts';
import { areDays, leastDates, zoneHint } from './check-shop-values.ts';
import { type Finding, warning } from './finding.ts';

/** Dates of change that runs cannot work with: dates in the future, and dates without a time of day. */
export async function checkChanges(shop: Shop, now: string): Promise<Finding[]> {
  const column = (await shop.hasFeed()) ? feedColumn : ordersColumn;
  const dates = await newestChanges(shop, now);
  if (areDays(dates)) return checkDays(column, dates, now);
  return column === feedColumn ? changesAhead(shop, now) : [];
}

type DateColumn = { file: string; name: string };
const feedColumn: DateColumn = { file: 'changed_orders.sql', name: 'changed_at' };
const ordersColumn: DateColumn = { file: 'orders.sql', name: 'updated_at' };

/** A change dated ahead is read again by each run until its time has come. */
async function changesAhead(shop: Shop, now: string): Promise<Finding[]> {
  const { keys } = await shop.changedSince({ at: minutesFrom(now, 1), code: '' }, 1000);
  const [first] = keys;
  if (first === undefined) return [];
  const what =
    `changed_orders.sql: ${keys.length} orders have a changed_at in the future, ` +
    `such as ${first.at} (order ${first.code})`;
  return [warning(what, `correct the rows, or say the zone: ${zoneHint('changed_at', shop.dialect)}`)];
}

/** Dates of up to 1000 changes of the last two days; of the last 30 days where those are too few. */
async function newestChanges(shop: Shop, now: string): Promise<string[]> {
  const since = async (days: number) => {
    const { keys } = await shop.changedSince({ at: minutesFrom(now, -days * 1440), code: '' }, 1000);
    return keys.map(({ at }) => at);
  };
  const newest = await since(2);
  return newest.length < leastDates ? since(30) : newest;
}

const minutesFrom = (at: string, minutes: number) => new Date(Date.parse(at) + minutes * 60_000).toISOString();

/**
 * Runs begin at the time of the newest change they saw, or of the first push: they pass over a change that is dated at
 * the beginning of its day. Dated at the end of its day, it is read by each run of the day.
 */
export function checkDays({ file, name }: DateColumn, dates: readonly string[], now: string): Finding[] {
  const newest = dates.at(-1) ?? '';
  if (Date.parse(newest) > Date.parse(now)) return [];
  const what =
    `${file}: all of the newest ${dates.length} changes have a ${name} at one time of day, such as ${newest}: ` +
    'a day without a time. Runs pass over changes that are made later on the day of the first push';
  return [
    warning(
      what,
      `select the date with its time, without a cast to date; where the shop keeps only the day: <day> + interval '1 day' as ${name}, so that each run reads the changes of the day again`,
    ),
  ];
}
