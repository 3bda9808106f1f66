import { isSameCode } from '../../base/codes.ts';
import { counted } from '../../base/counts.ts';
import type { Shop } from '../../shop/index.ts';
import type { RawOrder } from '../../shop/orders.ts';
import type { RawRow } from '../../shop/rows.ts';
import type { SqlDialect } from '../../shop/sql-text.ts';
import { type Finding, ok, warning } from './finding.ts';

/** Orders with a total and a line price, below which a share says nothing. */
const leastOrders = 3;
/** Whatever an order's vouchers and shipping costs. */
const isRare = (share: number) => share < 0.5 || share > 2;
/** If more than this part of the orders has a rare share, the query is wrong. */
const mostRare = 0.25;

/** What the prices of the lines add up to, as a part of the order's total; undefined if one of them is 0. */
export function shareOfLines({ order, lines, fault }: RawOrder): number | undefined {
  const total = Number(order.total_price);
  const priced = lines.filter(({ status }) => status !== 'cancelled' && status !== 'returned');
  const price = priced.reduce((sum, line) => sum + Number(line.price), 0);
  return fault === undefined && total > 0 && price > 0 ? price / total : undefined;
}

export const percent = (share: number) => `${Math.round(share * 100)} %`;

/** Whether the lines add up to about the totals: if they do not, unit, quantity or tax is missing, or they are of other orders. */
export function checkSums(orders: readonly RawOrder[]): Finding[] {
  const sums = orders.flatMap((raw) => {
    const share = shareOfLines(raw);
    return share === undefined ? [] : [{ code: raw.order.code, share }];
  });
  if (sums.length < leastOrders) return [];
  const median = sums.map(({ share }) => share).sort((a, b) => a - b)[Math.floor(sums.length / 2)] ?? 1;
  const what = `order_lines.sql: the lines add up to ${percent(median)} of total_price in the middle order`;
  const rare = sums.filter(({ share }) => isRare(share));
  if (rare.length <= sums.length * mostRare) return [ok(what)];
  const distance = ({ share }: { share: number }) => Math.abs(Math.log(share));
  const worst = rare.toSorted((a, b) => distance(b) - distance(a)).slice(0, 2);
  const examples = worst.map(({ code, share }) => `order ${code} (${percent(share)})`).join(' and ');
  return [
    warning(
      `${what}, and to less than half of it or more than twice as much in ${rare.length} of ${sums.length}, such as ${examples}`,
      'do the lines belong to these orders? order_code must be what orders.sql selects as code. Are both in the major ' +
        'unit, such as amount / 100.0? price is what was paid for the whole line: times the quantity, with tax',
    ),
  ];
}

/** What the description of the service's API shows, which is not complete (docs/interface.md), and what presets send besides. */
const knownStatuses =
  'paid delivery_started delivery_finished unpaid delivery_preparing cancelled refund_requested returned exchange_requested';

/** The statuses of lines that are neither in the description of the API nor in any preset, with counts. */
export function checkStatuses(lines: readonly RawRow[]): Finding[] {
  const known = knownStatuses.split(' ');
  const others = lines.flatMap(({ status }) => (status && !known.includes(status) ? [status] : []));
  if (others.length === 0) return [];
  const counts = [...Map.groupBy(others, (status) => status)].sort(([, a], [, b]) => b.length - a.length).slice(0, 8);
  const list = counts.map(([status, same]) => `${codeText(status)} ${same.length} times`).join(', ');
  const what = `order_lines.sql: status has values that neither the API’s description nor a preset uses, in ${counted(others.length, 'line')}: ${list}`;
  return [warning(what, `map them in the query to ${known.join(', ')}; any value is sent as it is`)];
}

/** A value that is no single word may be a customer's data in the wrong column (promise 9): then only its length is shown. */
const codeText = (code: string) =>
  /^[\p{L}_-][\p{L}\d_-]{0,31}$/u.test(code) && !/\d{5}/.test(code)
    ? JSON.stringify(code)
    : `a text of ${code.length} characters`;

/**
 * Whether a date may be the end of the day of a change, as docs/connecting.md dates a day without a time: midnight of some
 * zone, a quarter of an hour in UTC, at most a day ahead.
 */
const isEndOfToday = (date: string, now: string) =>
  /T\d\d:(00|15|30|45):00(\.0+)?Z$/.test(date) && Date.parse(date) <= Date.parse(now) + 24 * 3_600_000;

/** A date may lie this far ahead without being wrong: the clocks of two machines differ. */
const aheadMs = 60_000;

/** Dates that must not be in the future, and those that must not lie before the order's created_at. */
const dateRules = [
  ['orders.sql', 'created_at', 'in the future'],
  ['orders.sql', 'updated_at', 'in the future'],
  // A shop may write a date far ahead for "never": each order with one is a dead letter.
  ['orders.sql', 'deleted_at', 'in the future'],
  ['order_lines.sql', 'delivered_at', 'in the future'],
  ['orders.sql', 'updated_at', "before the order's created_at"],
  ['order_lines.sql', 'delivery_started_at', "before the order's created_at"],
  ['order_lines.sql', 'delivered_at', "before the order's created_at"],
] as const;

/** Dates in the future, and orders that were changed or delivered before they were created: mostly a wrong zone. */
export function checkDates(orders: readonly RawOrder[], now: string, dialect: SqlDialect): Finding[] {
  const rows = {
    'orders.sql': orders.map(({ order }) => ({ row: order, created: order.created_at })),
    'order_lines.sql': orders.flatMap(({ order, lines }) => lines.map((row) => ({ row, created: order.created_at }))),
  };
  return dateRules.flatMap(([file, name, why]) => {
    const isAhead = why === 'in the future';
    const wrong = rows[file].filter(({ row, created }) => {
      const date = row[name] ?? '';
      if (!isAhead) return Date.parse(date) < Date.parse(created ?? '') - aheadMs;
      return Date.parse(date) > Date.parse(now) + aheadMs && (name === 'created_at' || !isEndOfToday(date, now));
    });
    const [first] = wrong;
    const all = rows[file].length;
    if (!first || (!isAhead && wrong.length * 20 < all)) return [];
    const what = `${file}: ${wrong.length} of ${all} rows have ${name} ${why}, such as ${first.row[name]} (order of ${first.created})`;
    return [warning(what, correctZone(name, dialect))];
  });
}

/** The next step for a wrong date: how the query says the zone of a date that has none, or the end of a day. */
const correctZone = (name: string, dialect: SqlDialect) =>
  dialect === 'postgres'
    ? `correct the rows; select <day> + interval '1 day' for a day without its time; or say the zone: ` +
      `<expression> at time zone '<zone in which the shop writes it>' as ${name}`
    : 'correct the rows; select cast(<day> + interval 1 day as datetime) for a day without its time; or say the zone: ' +
      'SHOP_TIME_ZONE is that of every DATETIME; a column of another zone is ' +
      `convert_tz(<column>, '<its offset>', '<offset of SHOP_TIME_ZONE>') as ${name}`;

/** New orders that are looked for in the change feed. */
const newestOrders = 50;

/**
 * New orders that the change feed does not show, as if its date is null until the first change. Nothing is known if more
 * has changed than one page shows. @param orders the newest first.
 */
export async function checkNewOrders(shop: Shop, orders: readonly RawOrder[], now: string): Promise<Finding[]> {
  if (!(await shop.hasFeed())) return [];
  const ageMs = ({ order }: RawOrder) => Date.parse(now) - Date.parse(order.created_at ?? '');
  const recent = orders.filter((one) => ageMs(one) > aheadMs && ageMs(one) < 2 * 86_400_000).slice(0, newestOrders);
  const oldest = recent.at(-1)?.order.created_at;
  if (!oldest) return [];
  const after = { at: new Date(Date.parse(oldest) - aheadMs).toISOString(), code: '' };
  const { keys, next } = await shop.orderCodes({ axis: 'updated', after, size: 1000 });
  const missing = recent.filter(({ order }) => !keys.some(({ code }) => isSameCode(code, order.code ?? '')));
  if (next || missing.length <= recent.length * mostRare) return [];
  const what =
    `changed_orders.sql does not show ${missing.length} of the newest ${counted(recent.length, 'order')}, such as ` +
    `order ${missing[0]?.order.code}: new orders wait for the next sync reconcile`;
  const hint = 'add a branch that selects the date of creation, and see whether all its dates are in one zone';
  return [warning(what, hint)];
}
