import type { RawOrder } from '../../shop/orders.ts';
import type { RawRow } from '../../shop/rows.ts';
import type { SqlDialect } from '../../shop/sql-text.ts';
import { type Finding, ok, warning } from './finding.ts';

/** Orders with a total and a line price, below which a ratio says nothing. */
const leastOrders = 3;
/** Lines that cost so many times their order's total, or so small a part of it, are in another unit. */
const otherUnit = 20;
const noPrice = new Set(['cancelled', 'returned']);

/** What the prices of the lines add up to, as a part of the order's total; undefined where one of them is 0. */
export function shareOfLines({ order, lines, fault }: RawOrder): number | undefined {
  const total = Number(order.total_price);
  const price = lines
    .filter(({ status }) => !noPrice.has(status ?? ''))
    .reduce((sum, line) => sum + Number(line.price), 0);
  return fault === undefined && total > 0 && price > 0 ? price / total : undefined;
}

export const percent = (share: number) => `${Math.round(share * 100)} %`;

/** Shares of a total that a shop's shipping costs, discounts and vouchers explain. */
const usualShare = { least: 0.7, most: 1.3 };

/** What the prices of lines add up to in the middle order: a forgotten quantity or tax, or another unit, shows here. */
export function checkSums(orders: readonly RawOrder[]): Finding[] {
  const ratios = orders.flatMap((order) => shareOfLines(order) ?? []);
  if (ratios.length < leastOrders) return [];
  const median = ratios.toSorted((a, b) => a - b)[Math.floor(ratios.length / 2)] ?? 1;
  const what = `order_lines.sql: the lines add up to ${percent(median)} of total_price in the middle order`;
  if (median >= usualShare.least && median <= usualShare.most) return [ok(what)];
  if (median < otherUnit && median > 1 / otherUnit) {
    return [warning(what, 'price is what was paid for the whole line: times the quantity, with tax, after discounts')];
  }
  const [many, few] =
    median > 1 ? ['order_lines.sql: lines', "order's total"] : ['orders.sql: totals', "order's lines"];
  const times = Math.round(median > 1 ? median : 1 / median);
  const file = median > 1 ? 'price' : 'total_price';
  return [
    warning(
      `${many} cost ${times} times their ${few}: minor units?`,
      `select ${file} in the major unit, such as amount / 100.0, in both files`,
    ),
  ];
}

/**
 * Statuses that the description of the service's API shows. It says that its list is not complete (docs/interface.md,
 * "Sub-order status").
 */
const shownStatuses = ['paid', 'delivery_started', 'delivery_finished'] as const;
/** Words that the presets and the template send besides, see sql/shop. */
const presetStatuses = [
  'unpaid',
  'delivery_preparing',
  'cancelled',
  'refund_requested',
  'returned',
  'exchange_requested',
] as const;
const expectedStatuses: ReadonlySet<string> = new Set([...shownStatuses, ...presetStatuses]);

/** The statuses of lines that are neither in the description of the API nor in any preset, with counts. */
export function statuses(orders: readonly RawOrder[]): Finding[] {
  const lines = orders.flatMap((one) => one.lines);
  const counts = new Map<string, number>();
  for (const { status } of lines) {
    if (status && !expectedStatuses.has(status)) counts.set(status, (counts.get(status) ?? 0) + 1);
  }
  if (counts.size === 0) return [];
  const unknown = [...counts.values()].reduce((sum, count) => sum + count, 0);
  const shown = [...counts].sort((a, b) => b[1] - a[1]).slice(0, 8);
  const list = shown.map(([status, count]) => `${statusText(status)} ${count} times`).join(', ');
  const what =
    'order_lines.sql: status has values that neither the API’s description nor a preset uses, ' +
    `in ${unknown} lines: ${list}`;
  const hint =
    `map them in the query: the API’s description shows ${shownStatuses.join(', ')}, ` +
    `presets also send ${presetStatuses.join(', ')}; the service’s list of statuses is not known, ` +
    'and any value is sent as it is';
  return [warning(what, hint)];
}

/**
 * Whether the member grades that orders name are known.
 *
 * @param grades the codes of user_grades.sql; undefined where that file is absent.
 */
export function checkGrades(orders: readonly RawOrder[], grades: readonly (string | null | undefined)[] | undefined) {
  const named = new Set(orders.flatMap(({ order }) => order.user_grade_code ?? []));
  const hint = 'add them to user_grades.sql, or leave user_grade_code out of orders.sql';
  const unknown = [...named].filter((code) => !grades?.includes(code));
  const [first] = unknown;
  if (first === undefined) return [];
  if (grades === undefined) {
    return [warning('orders.sql names member grades, and there is no user_grades.sql: no grade is sent', hint)];
  }
  const what =
    `orders.sql names ${unknown.length} member grades that user_grades.sql does not have, ` +
    `such as ${statusText(first)}: they are not sent`;
  return [warning(what, hint)];
}

/**
 * A value that is no single word may be a customer's data in the wrong column (promise 9): then only its kind is shown.
 */
const statusText = (status: string) =>
  /^[\p{L}_-][\p{L}\d_-]{0,31}$/u.test(status) && !/\d{5}/.test(status)
    ? JSON.stringify(status)
    : `a text of ${status.length} characters`;

/** Fewer dates prove nothing about the time of day. */
export const leastDates = 10;

/**
 * Whether dates (ISO 8601 in UTC) are days without a time: all have one time of day, the midnight of some
 * zone.
 */
export function areDays(dates: readonly string[]): boolean {
  const times = new Set(dates.map((date) => date.slice(10)));
  const [time = ''] = times;
  // Midnight of each zone is at a quarter of an hour in UTC.
  return dates.length >= leastDates && times.size === 1 && /^T\d\d:(00|15|30|45):00(\.0+)?Z$/.test(time);
}

/** A date may lie this far ahead without being wrong: the clocks of two machines differ. */
const aheadMs = 60_000;

/** Dates in the future, and orders that were changed or delivered before they were created: mostly a wrong zone. */
export function checkDates(orders: readonly RawOrder[], now: string, dialect: SqlDialect): Finding[] {
  const nowMs = Date.parse(now);
  const rows = orders.map(({ order }) => order);
  const lines = orders.flatMap((one) => one.lines);
  const ahead = (file: string, all: readonly RawRow[], name: string): Finding[] => {
    const dates = all.flatMap((row) => row[name] ?? []).filter((date) => Date.parse(date) > nowMs + aheadMs);
    if (dates.length === 0) return [];
    const what =
      `${file}: ${dates.length} of ${all.length} rows have ${article(name)} ${name} in the future, ` +
      `such as ${dates[0]}`;
    return [warning(what, `correct the rows, or say the zone: ${zoneHint(name, dialect)}`)];
  };
  const early = (
    file: string,
    all: readonly { row: RawRow; created: string | null | undefined }[],
    name: string,
  ): Finding[] => {
    const found = all.filter(
      ({ row, created }) => created && Date.parse(row[name] ?? '') < Date.parse(created) - aheadMs,
    );
    if (found.length === 0 || found.length * 20 < all.length) return [];
    const what =
      `${file}: ${found.length} of ${all.length} rows have ${article(name)} ` +
      `${name} before the order's created_at, such as ${found[0]?.row[name]} and ${found[0]?.created}`;
    const isDay = areDays(all.flatMap(({ row }) => row[name] ?? []));
    const hint = isDay
      ? `it is a day without a time, which counts from its midnight: select the time too, or <day> + interval '1 day' as ${name}`
      : `one of the two may be in another zone: ${zoneHint(name, dialect)}`;
    return [warning(what, hint)];
  };
  const ofLines = orders.flatMap((one) => one.lines.map((row) => ({ row, created: one.order.created_at })));
  return [
    ...ahead('orders.sql', rows, 'created_at'),
    ...ahead('orders.sql', rows, 'updated_at'),
    ...ahead('order_lines.sql', lines, 'delivered_at'),
    ...early(
      'orders.sql',
      rows.map((row) => ({ row, created: row.created_at })),
      'updated_at',
    ),
    ...early('order_lines.sql', ofLines, 'delivery_started_at'),
    ...early('order_lines.sql', ofLines, 'delivered_at'),
  ];
}

const article = (name: string) => (/^[aeiou]/.test(name) ? 'an' : 'a');

/** How the query says the zone of a date that has none. */
export const zoneHint = (name: string, dialect: SqlDialect) =>
  dialect === 'postgres'
    ? `<expression> at time zone '<zone in which the shop writes it>' as ${name}`
    : "SHOP_TIME_ZONE is that of every DATETIME; a column of another zone is convert_tz(<column>, '<its offset>', " +
      `'<offset of SHOP_TIME_ZONE>') as ${name}`;
