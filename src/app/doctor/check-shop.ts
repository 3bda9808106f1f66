import { resolve } from 'node:path';
import { isSameCode, isUsableCode } from '../../base/codes.ts';
import { codesText, counted } from '../../base/counts.ts';
import { describeError, ReviewSyncError, UsageError } from '../../base/errors.ts';
import { packagePath } from '../../base/package-path.ts';
import { readCatalogRows } from '../../orders/catalog/sync-catalog.ts';
import { desiredOrder } from '../../orders/plan/desired-order.ts';
import type { ShopFacts } from '../../shop/driver.ts';
import type { QueryCost } from '../../shop/explain-queries.ts';
import type { Shop } from '../../shop/index.ts';
import { keylessAtMost, type RawOrder } from '../../shop/orders.ts';
import { type QueryName, type RawRow, type Read, readCategory, readOrder, readUserGrade } from '../../shop/rows.ts';
import { isShopCancelled } from '../../shop/shop-errors.ts';
import type { SqlDialect } from '../../shop/sql-text.ts';
import type { NewDeadLetter } from '../../warehouse/dead-letters.ts';
import type { CatalogKind } from '../../warehouse/orders/catalog-links.ts';
import { applying, type Finding, failed, fault, inTime, ok, warning } from './finding.ts';

/**
 * Checks the rights, every query against the contract, and a sample of the orders, read as a run reads them. Names the
 * records that a run would make dead letters. Changes nothing.
 */
export async function checkShop(shop: Shop, sqlDir: string): Promise<Finding[]> {
  try {
    const facts = await inTime(shop.facts());
    const broken = [
      ...(await checkQuery(shop, 'orders', resolve(sqlDir))),
      ...(await checkQuery(shop, 'order_lines', resolve(sqlDir))),
      ...(await checkQuery(shop, 'changed_orders')),
    ];
    const ofOrders = async () => [
      ...(await guarded('orders.sql and order_lines.sql', () => checkOrders(shop))),
      ...(await guarded('the shop queries', () => checkQueryCosts(shop))),
    ];
    return [
      ...checkServer(facts),
      ...(broken.length > 0 ? broken : await ofOrders()),
      ...(await checkCatalog(shop, 'categories', 'category', readCategory)),
      ...(await checkCatalog(shop, 'user_grades', 'user_grade', readUserGrade)),
    ];
  } catch (error) {
    return [failed(error, 'SHOP_DATABASE_URL', 'cannot be used')];
  }
}

function checkServer(facts: ShopFacts): Finding[] {
  const { product, version, user, isSuperuser, writable, examples, openSchemas, withoutSnapshot } = facts;
  const is = `${product} ${version}, user ${user}`;
  const who = isSuperuser ? 'who is a superuser' : `who may write to ${counted(writable, 'table')}`;
  const schemas = openSchemas.join(', ');
  const warnings = applying(warning, [
    [
      writable > 0,
      `${is}, ${who} (${examples.join(', ')} …): review-sync itself never does, reads alone are enough`,
      'create a user with select only, and name it in SHOP_DATABASE_URL',
    ],
    // The session keeps the shop's search path, so it may call a function that another role puts there.
    [
      openSchemas.length > 0,
      `every role of the shop's database may create functions in the schema ${schemas}: one could read what ${user} may read`,
      `let its owner run: revoke create on schema ${schemas} from public`,
    ],
    [
      withoutSnapshot.length > 0,
      `the engine of ${codesText(withoutSnapshot.slice(0, 3), withoutSnapshot.length)} has no transactions (MyISAM): an order that changes while it is read ` +
        'may be pushed half changed, until the next run reads it again',
      `convert each: alter table ${withoutSnapshot[0]} engine = InnoDB`,
    ],
  ]);
  return writable === 0 ? [ok(`${is}, who may only read`), ...warnings] : warnings;
}

/** @param folder the folder that must have the query. Undefined: the query may be absent. */
const checkQuery = (shop: Shop, name: QueryName, folder?: string): Promise<Finding[]> =>
  guarded(`${name}.sql`, async () => {
    if ((await shop.hasQuery(name)) || folder === undefined) return [];
    const hint = `write it as in ${packagePath('sql', 'shop')}, or point SHOP_SQL_DIR at the folder that holds it`;
    return [fault(`${name}.sql is missing in ${folder}`, hint)];
  });

async function guarded(file: string, check: () => Promise<Finding[]>): Promise<Finding[]> {
  try {
    return await check();
  } catch (error) {
    const hint = error instanceof ReviewSyncError ? error.hint : undefined;
    if (hint !== undefined || error instanceof UsageError)
      return [fault(describeError(error), hint ?? `correct ${file}`)];
    return [failed(error, 'SHOP_DATABASE_URL', `${file} could not be run`)];
  }
}

const correctRows =
  'correct the rows, or the query, in which a join may multiply rows; each waits as a dead letter until then';
const correctOrLeaveOut = 'correct the rows, or leave them out of the query';
const sameCode = 'let order_lines.sql select as order_code what orders.sql selects as code';

async function checkOrders(shop: Shop): Promise<Finding[]> {
  const { orders, linesWithoutOrderCode } = await shop.orderSample();
  const lines = orders.flatMap((one) => one.lines);
  const keyless = await keylessOrders(shop);
  if (orders.length === 0 && keyless.length === 0) {
    return [warning('orders.sql fits, but finds no row', 'see whether its conditions are right')];
  }
  const linesFault = await shop.linesFault();
  const now = await shop.now();
  const orphans = `order_lines.sql: ${counted(linesWithoutOrderCode, 'row')} without order_code: no order will show them`;
  const findings = [
    ...checkRows(orders),
    ...(linesFault === undefined ? [] : [fault(linesFault, sameCode)]),
    ...keyless,
    ...applying(warning, [[linesWithoutOrderCode > 0, orphans, correctOrLeaveOut]]),
    ...checkDates(orders, now, shop.dialect),
    ...(await checkNewOrders(shop, orders, now)),
  ];
  // A fault, such as lines that a join repeats, already explains a wrong sum.
  const sums = findings.some(({ level }) => level === 'fault') ? [] : checkSums(orders);
  const ofValues = [...sums, ...checkStatuses(lines)];
  if (findings.length > 0) return [...findings, ...ofValues];
  if (lines.length === 0) {
    return [warning('order_lines.sql fits, but the orders have no line', 'see whether its conditions are right')];
  }
  return [...ofValues, fits('orders.sql', orders), fits('order_lines.sql', lines)];
}

/** The dead letters that a run would make of these orders, which are read as a run reads them. */
function checkRows(orders: readonly RawOrder[]): Finding[] {
  const none = new Map<string, number>();
  const desired = orders.map((raw) => desiredOrder(raw, none, none, 'off'));
  const readable = desired.flatMap((one) => ('lines' in one ? one : []));
  const unreadable = desired.flatMap((one) => ('lines' in one ? [] : one));
  const sendable = readable.flatMap(({ lines, waiting }) => [...lines, ...waiting]);
  return [
    ...misfits('orders.sql', unreadable, readable.length),
    ...misfits(
      'order_lines.sql',
      readable.flatMap(({ faulty }) => faulty),
      sendable.length,
    ),
  ];
}

/** Rows that runs may miss, because they lack a usable code or date. Shows one key, without customer data. */
async function keylessOrders(shop: Shop): Promise<Finding[]> {
  try {
    const rows = await shop.keylessOrders();
    const [example] = rows.flatMap((row) => {
      const read = readOrder(row);
      const name = isUsableCode(row.code)
        ? `order ${row.code}`
        : `an order created at ${row.created_at ?? 'an unknown time'}`;
      return 'fault' in read ? `${read.fault} (${name})` : [];
    });
    if (example === undefined) return [];
    const howMany = `${rows.length === keylessAtMost ? 'at least ' : ''}${counted(rows.length, 'row')}`;
    return [warning(`orders.sql: ${howMany} that runs may not find, such as: ${example}`, correctOrLeaveOut)];
  } catch (error) {
    // The query reads all rows. In a large shop that is not possible within 30 s.
    if (!isShopCancelled(error)) throw error;
    const what = 'orders.sql: it is unknown whether rows have no code or no date: looking took over 30 s';
    return [warning(what, 'run the query by hand with: where code is null')];
  }
}

/**
 * Rows that would become dead letters, by reason, each with the key of an example. If there are no `others` that can be
 * synced, the query itself is wrong.
 */
function misfits(file: string, found: readonly NewDeadLetter[], others: number): Finding[] {
  const level = others > 0 ? warning : fault;
  const total = found.length + others;
  return [...Map.groupBy(found, ({ reason }) => reason)].map(([reason, same]) => {
    const [example] = same;
    const what = `${file}: ${same.length} of ${total} rows would not be synced, such as: ${reason}`;
    return level(`${what} (${example?.kind} ${example?.key})`, correctRows);
  });
}

const checkCatalog = <T extends { code: string }>(
  shop: Shop,
  name: 'categories' | 'user_grades',
  kind: CatalogKind,
  read: (row: RawRow) => Read<T>,
): Promise<Finding[]> =>
  guarded(`${name}.sql`, async () => {
    const file = `${name}.sql`;
    const rows = await shop.catalog(name);
    if (!rows) return [ok(`${file} is absent: that part is not synced`)];
    const { byCode, deadLetters } = readCatalogRows(kind, rows, read);
    const findings = misfits(file, deadLetters, byCode.size);
    return findings.length > 0 ? findings : [fits(file, rows)];
  });

const fits = (file: string, rows: readonly unknown[]) =>
  ok(`${file} fits the contract: ${counted(rows.length, 'row')}, all right`);

/** With fewer orders that have a total and a line price, a share says nothing. */
const leastOrders = 3;
/** Whether a share of the total is rare, with any vouchers and shipping costs. */
const isRare = (share: number) => share < 0.5 || share > 2;
/** If more than this part of the orders is odd (a rare share, not in the change feed), the query is wrong. */
const oddAtMost = 0.25;

/** The prices of the kept lines as a share of the order's total; undefined if either is 0, or the order has a fault. */
export function shareOfLines({ order, lines, fault }: RawOrder): number | undefined {
  const total = Number(order.total_price);
  const priced = lines.filter(({ status }) => status !== 'cancelled' && status !== 'returned');
  const price = priced.reduce((sum, line) => sum + Number(line.price), 0);
  return fault === undefined && total > 0 && price > 0 ? price / total : undefined;
}

export const percent = (share: number) => `${Math.round(share * 100)} %`;

/** Whether lines add up to about the totals. If not: unit, quantity or tax is missing, or lines are of other orders. */
export function checkSums(orders: readonly RawOrder[]): Finding[] {
  const sums = orders.flatMap((raw) => {
    const share = shareOfLines(raw);
    return share === undefined ? [] : [{ code: raw.order.code, share }];
  });
  if (sums.length < leastOrders) return [];
  const median = sums.map(({ share }) => share).sort((a, b) => a - b)[Math.floor(sums.length / 2)] ?? 1;
  const what = `order_lines.sql: in the median order, the lines add up to ${percent(median)} of total_price`;
  const rare = sums.filter(({ share }) => isRare(share));
  if (rare.length <= sums.length * oddAtMost) return [ok(what)];
  const distance = ({ share }: { share: number }) => Math.abs(Math.log(share));
  const worst = rare.toSorted((a, b) => distance(b) - distance(a)).slice(0, 2);
  const examples = worst.map(({ code, share }) => `order ${code} (${percent(share)})`).join(' and ');
  return [
    warning(
      `${what}; in ${rare.length} of ${sums.length} orders, to less than half of it or more than twice, such as ${examples}`,
      'do the lines belong to these orders? order_code must be what orders.sql selects as code. Are both in the major ' +
        'unit, such as amount / 100.0? price is what was paid for the whole line: times the quantity, with tax',
    ),
  ];
}

/** The statuses in the incomplete description of the service's API (docs/interface.md), and those that presets send. */
const knownStatuses =
  'paid delivery_started delivery_finished unpaid delivery_preparing cancelled refund_requested returned exchange_requested';

/** The statuses of lines that are neither in the description of the API nor in any preset, with counts. */
export function checkStatuses(lines: readonly RawRow[]): Finding[] {
  const known = knownStatuses.split(' ');
  const others = lines.flatMap(({ status }) => (status && !known.includes(status) ? [status] : []));
  if (others.length === 0) return [];
  const counts = [...Map.groupBy(others, (status) => status)].sort(([, a], [, b]) => b.length - a.length).slice(0, 8);
  const list = counts.map(([status, same]) => `${shownStatus(status)} ${same.length} times`).join(', ');
  const what = `order_lines.sql: status has values that neither the API’s description nor a preset uses, in ${counted(others.length, 'line')}: ${list}`;
  return [warning(what, `map them in the query to ${known.join(', ')}; any value is sent as it is`)];
}

/** A value that is not one plain word may be customer data in a wrong column (promise 9): only its length is shown. */
const shownStatus = (code: string) =>
  /^[\p{L}_-][\p{L}\d_-]{0,31}$/u.test(code) && !/\d{5}/.test(code)
    ? JSON.stringify(code)
    : `a text of ${code.length} characters`;

/**
 * Whether a date may be the end of the day of a change, as docs/connecting.md dates a day without a time: midnight of
 * some zone, a quarter of an hour in UTC, at most a day ahead.
 */
const isEndOfToday = (date: string, now: string) =>
  /T\d\d:(00|15|30|45):00(\.0+)?Z$/.test(date) && Date.parse(date) <= Date.parse(now) + 24 * 3_600_000;

/** A date may be this far ahead without being wrong: the clocks of two machines differ. */
const aheadMs = 60_000;

/** Dates that must not be in the future, and dates that must not be before the order's created_at. */
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

/** The next step for a wrong date: how the query states the zone of a date without zone, or the end of a day. */
const correctZone = (name: string, dialect: SqlDialect) =>
  dialect === 'postgres'
    ? `correct the rows; select <day> + interval '1 day' for a day without its time; or say the zone: ` +
      `<expression> at time zone '<zone in which the shop writes it>' as ${name}`
    : 'correct the rows; select cast(<day> + interval 1 day as datetime) for a day without its time; or say the zone: ' +
      'SHOP_TIME_ZONE is that of every DATETIME; a column of another zone is ' +
      `convert_tz(<column>, '<its offset>', '<offset of SHOP_TIME_ZONE>') as ${name}`;

/** The number of new orders to look for in the change feed. */
const newestOrders = 50;

/**
 * New orders that the change feed does not show, for example because its date is null until the first change. If more
 * has changed than one page shows, the check says nothing. @param orders the newest first.
 */
async function checkNewOrders(shop: Shop, orders: readonly RawOrder[], now: string): Promise<Finding[]> {
  if (!(await shop.hasFeed())) return [];
  const ageMs = ({ order }: RawOrder) => Date.parse(now) - Date.parse(order.created_at ?? '');
  const recent = orders.filter((one) => ageMs(one) > aheadMs && ageMs(one) < 2 * 86_400_000).slice(0, newestOrders);
  const oldest = recent.at(-1)?.order.created_at;
  if (!oldest) return [];
  const after = { at: new Date(Date.parse(oldest) - aheadMs).toISOString(), code: '' };
  const { keys, next } = await shop.orderCodes({ axis: 'updated', after, size: 1000 });
  const missing = recent.filter(({ order }) => !keys.some(({ code }) => isSameCode(code, order.code ?? '')));
  if (next || missing.length <= recent.length * oddAtMost) return [];
  const what =
    `changed_orders.sql does not show ${missing.length} of the newest ${counted(recent.length, 'order')}, such as ` +
    `order ${missing[0]?.order.code}: new orders wait for the next sync reconcile`;
  const hint = 'add a branch that selects the date of creation, and see whether all its dates are in one zone';
  return [warning(what, hint)];
}

/** If a statement takes longer than this, it reads more than it needs, whatever its plan says. */
const slowSeconds = 5;

/** Explains and times each statement that runs send to the shop. */
export async function checkQueryCosts(shop: Shop): Promise<Finding[]> {
  const costs = await shop.queryCosts();
  if (costs.length === 0) return [];
  // One finding for each file: its statements fail for the same reason.
  const unexplained = new Map(costs.flatMap(({ file, unexplained: why }) => (why ? [[file, why]] : [])));
  const findings = [
    ...costs.flatMap(costFinding),
    ...[...unexplained].map(([file, why]) =>
      warning(
        `it is unknown whether ${file}.sql reads a large table as a whole: ${why}`,
        'run explain on the query by hand, with a condition on its key, as a user who may read all its tables',
      ),
    ),
  ];
  if (findings.length > 0) return findings;
  const list = costs.map(({ purpose, seconds = 0 }) => `${(seconds * 1000).toFixed(0)} ms to ${purpose}`).join(', ');
  return [ok(`no statement reads a large table as a whole: ${list}`)];
}

function costFinding({ file, purpose, seconds, scans }: QueryCost): Finding[] {
  if (scans.length === 0 && seconds !== undefined && seconds < slowSeconds) return [];
  const tables = scans.map(({ table, rows }) => (rows === undefined ? table : `${table} (${counted(rows, 'row')})`));
  const does = scans.length > 0 ? `reads the whole of ${tables.join(' and ')}` : 'takes long';
  const hint =
    scans.map((scan) => scan.remedy).join('; ') ||
    'run explain analyze on the query with a condition on its key, and see what it reads';
  const what = `${file}.sql ${does} to ${purpose}:`;
  if (seconds !== undefined) return [warning(`${what} ${seconds.toFixed(3)} s today`, hint)];
  return [fault(`${what} more than 30 s, or than a limit of the database; then it is cancelled`, hint)];
}
