import { resolve } from 'node:path';
import { describeError, ReviewSyncError, UsageError } from '../../base/errors.ts';
import { packagePath } from '../../base/package-path.ts';
import type { QueryName } from '../../shop/contract.ts';
import type { Shop } from '../../shop/index.ts';
import type { RawOrder } from '../../shop/orders.ts';
import { type RawRow, type Read, readCategory, readOrder, readOrderLine, readUserGrade } from '../../shop/rows.ts';
import { isShopTimeout } from '../../shop/shop-timeout.ts';
import { checkChanges } from './check-shop-changes.ts';
import { checkEngines, checkQueryCosts, checkSearchPath } from './check-shop-queries.ts';
import { checkDates, checkGrades, checkSums, statuses } from './check-shop-values.ts';
import { databaseFault, type Finding, fault, ok, warning } from './finding.ts';
import { withTimeoutDiagnosis } from './reachable.ts';

/**
 * Rights, every query against the contract, and a sample of the orders read as a run reads them: what a run would make
 * a dead letter is named here before. Changes nothing.
 */
export async function checkShop(shop: Shop, at: { url: string; sqlDir: string }): Promise<Finding[]> {
  try {
    const facts = await withTimeoutDiagnosis(shop.facts(), at.url);
    const is = `${facts.product} ${facts.version}, user ${facts.user}`;
    const findings = [facts.writable === 0 ? ok(`${is}, who may only read`) : mayWrite(is, facts)];
    const broken = new Map<QueryName, Finding>();
    for (const name of ['orders', 'order_lines'] as const) {
      const finding = await checkQuery(shop, name, resolve(at.sqlDir));
      if (finding) broken.set(name, finding);
    }
    const feed = await guarded('changed_orders.sql', async () => {
      await shop.hasQuery('changed_orders');
      return [];
    });
    if (broken.size > 0 || feed.length > 0) findings.push(...broken.values(), ...feed);
    else {
      findings.push(...(await guarded('orders.sql and order_lines.sql', () => checkOrders(shop))));
      findings.push(...(await guarded('the shop queries', () => checkQueryCosts(shop))));
    }
    findings.push(...checkSearchPath(facts), ...checkEngines(facts));
    findings.push(...(await checkCatalog(shop, 'categories', () => shop.categories(), readCategory)));
    findings.push(...(await checkCatalog(shop, 'user_grades', () => shop.userGrades(), readUserGrade)));
    return findings;
  } catch (error) {
    return [databaseFault('cannot be used', error, 'SHOP_DATABASE_URL')];
  }
}

function mayWrite(is: string, facts: { isSuperuser: boolean; writable: number; examples: string[] }): Finding {
  const who = facts.isSuperuser ? 'who is a superuser' : `who may write to ${facts.writable} tables`;
  return warning(
    `${is}, ${who} (${facts.examples.join(', ')} …): review-sync itself never does, reads alone are enough`,
    'create a user with select only, and name it in SHOP_DATABASE_URL',
  );
}

async function checkQuery(shop: Shop, name: QueryName, folder: string): Promise<Finding | undefined> {
  try {
    if (await shop.hasQuery(name)) return undefined;
    const hint = `write it as in ${packagePath('sql', 'shop')}, or point SHOP_SQL_DIR at the folder that holds it`;
    return fault(`${name}.sql is missing in ${folder}`, hint);
  } catch (error) {
    return queryFault(`${name}.sql`, error);
  }
}

function queryFault(file: string, error: unknown): Finding {
  if (error instanceof UsageError) return fault(describeError(error), error.hint ?? `correct ${file}`);
  if (error instanceof ReviewSyncError && error.hint) return fault(describeError(error), error.hint);
  return databaseFault(`${file} could not be run`, error, 'SHOP_DATABASE_URL');
}

async function guarded(file: string, check: () => Promise<Finding[]>): Promise<Finding[]> {
  try {
    return await check();
  } catch (error) {
    return [queryFault(file, error)];
  }
}

async function checkOrders(shop: Shop): Promise<Finding[]> {
  const begun = performance.now();
  const { orders, linesWithoutOrderCode } = await shop.orderSample();
  const seconds = (performance.now() - begun) / 1000;
  const lines = orders.reduce((sum, { lines: { length } }) => sum + length, 0);
  const keyless = await keylessOrders(shop);
  if (orders.length === 0 && keyless.rows.length === 0) {
    return [warning('orders.sql fits, but finds no row', 'see whether its conditions are right')];
  }
  const linesFault = await shop.linesFault();
  const now = await shop.now();
  const findings = [
    ...unreadable(orders),
    ...misfits('orders.sql', orders.length, orders.filter((one) => one.fault === undefined).flatMap(orderMisfit)),
    ...misfits('order_lines.sql', lines, orders.flatMap(lineMisfits)),
    ...twins(
      'order_lines.sql',
      orders.flatMap((one) => one.lines.map(lineName)),
    ),
    ...(linesFault === undefined
      ? []
      : [fault(linesFault, 'let order_lines.sql select as order_code what orders.sql selects as code')]),
    ...countOf(keyless.rows.length, 'orders.sql', 'have no code or no date'),
    ...keyless.unknown,
    ...countOf(linesWithoutOrderCode, 'order_lines.sql', 'have no order_code: no order will show them'),
    ...(await repeatedCodes(shop, orders)),
    ...checkDates(orders, now, shop.dialect),
    ...(await checkChanges(shop, now)),
    ...(await gradesOf(shop, orders)),
  ];
  // A fault, such as lines that a join repeats, explains their sum.
  const sums = findings.some(({ level }) => level === 'fault') ? [] : checkSums(orders);
  const ofStatuses = [...sums, ...statuses(orders)];
  if (findings.length > 0) return [...findings, ...ofStatuses];
  const took = `${seconds.toFixed(seconds < 1 ? 2 : 0)} s`;
  if (lines === 0) {
    return [warning('order_lines.sql fits, but the orders have no line', 'see whether its conditions are right')];
  }
  return [
    ...ofStatuses,
    ok(`orders.sql fits the contract: ${orders.length} rows in ${took}, all right`),
    ok(`order_lines.sql fits the contract: ${lines} rows, all right`),
  ];
}

/** Looking for them reads the whole of orders.sql: in a large shop that is not possible within 30 s. */
async function keylessOrders(shop: Shop): Promise<{ rows: RawRow[]; unknown: Finding[] }> {
  try {
    return { rows: (await shop.keylessOrders()).rows, unknown: [] };
  } catch (error) {
    if (!isShopTimeout(error)) throw error;
    const what = 'orders.sql: it is unknown whether rows have no code or no date: looking took over 30 s';
    return { rows: [], unknown: [warning(what, 'run the query by hand with: where code is null')] };
  }
}

async function gradesOf(shop: Shop, orders: readonly RawOrder[]): Promise<Finding[]> {
  const read = await shop.userGrades().then(
    (rows) => ({ codes: rows?.map(({ row }) => row.code) }),
    // The check of user_grades.sql reports it.
    () => undefined,
  );
  return read ? checkGrades(orders, read.codes) : [];
}

/** Orders whose rows the sample shows twice are named already. */
async function repeatedCodes(shop: Shop, sample: readonly RawOrder[]): Promise<Finding[]> {
  try {
    const named = new Set(sample.flatMap((one) => (one.fault === undefined ? [] : one.order.code)));
    const [first] = (await shop.repeatedCodes()).filter(({ code }) => !named.has(code));
    if (first === undefined) return [];
    const what = `orders.sql: code ${first.code} is in ${first.rows} rows, expected one`;
    return [fault(what, 'let the query give each order once: a join may multiply rows')];
  } catch (error) {
    if (!isShopTimeout(error)) throw error;
    const what = 'orders.sql: it is unknown whether each code is in one row only: looking took over 30 s';
    return [warning(what, 'see whether the database keeps the code unique')];
  }
}

type Misfit = { key: string; reason: string };

/** Orders that the database cannot give, by reason. */
function unreadable(orders: readonly RawOrder[]): Finding[] {
  const bad = orders.flatMap(({ order, fault: reason }) =>
    reason === undefined ? [] : [{ key: `order ${order.code}`, reason }],
  );
  return [...Map.groupBy(bad, ({ reason }) => reason)].map(([reason, [first, ...more]]) =>
    fault(
      `${reason} (${first?.key}${more.length > 0 ? ` and ${more.length} more` : ''} of ${orders.length} orders)`,
      'correct the rows, or the query; each order waits as a dead letter until then',
    ),
  );
}

const misfitOf = (key: string, read: Read<unknown>): Misfit[] => ('fault' in read ? [{ key, reason: read.fault }] : []);
const orderMisfit = ({ order }: RawOrder) => misfitOf(`order ${order.code}`, readOrder(order));
const lineName = (line: RawRow) => `line_code ${line.line_code} of order ${line.order_code}`;
const lineMisfits = ({ lines }: RawOrder) => lines.flatMap((line) => misfitOf(lineName(line), readOrderLine(line)));

/**
 * Rows that would become dead letters, by reason, each with an example; only keys are shown, not values of customers.
 */
function misfits(file: string, total: number, found: readonly Misfit[]): Finding[] {
  return [...Map.groupBy(found, ({ reason }) => reason)].map(([reason, same]) =>
    warning(
      `${file}: ${same.length} of ${total} rows would not be synced, such as: ${reason} (${same[0]?.key})`,
      'correct the rows, or the query; each waits as a dead letter until then',
    ),
  );
}

function countOf(count: number, file: string, what: string): Finding[] {
  if (count === 0) return [];
  return [warning(`${file}: ${count} rows ${what}`, 'correct the rows, or leave them out of the query')];
}

function twins(file: string, keys: readonly string[]): Finding[] {
  const twin = [...Map.groupBy(keys, (key) => key)].find(([, same]) => same.length > 1);
  if (!twin) return [];
  const hint = 'let the query give each once: a join may multiply rows';
  return [fault(`${file}: ${twin[0]} is there ${twin[1].length} times`, hint)];
}

async function checkCatalog(
  shop: Shop,
  name: 'categories' | 'user_grades',
  readAll: () => ReturnType<Shop['categories']>,
  read: (row: RawRow) => Read<unknown>,
): Promise<Finding[]> {
  const file = `${name}.sql`;
  return guarded(file, async () => {
    if (!(await shop.hasQuery(name))) return [ok(`${file} is absent: that part is not synced`)];
    const rows = (await readAll()) ?? [];
    const bad = rows.flatMap(({ row, fault: reason }) =>
      reason === undefined ? misfitOf(`code ${row.code}`, read(row)) : [{ key: `code ${row.code}`, reason }],
    );
    const findings = [
      ...misfits(file, rows.length, bad),
      ...twins(
        file,
        rows.map(({ row }) => `code ${row.code}`),
      ),
    ];
    return findings.length > 0 ? findings : [ok(`${file} fits the contract: ${rows.length} rows, all right`)];
  });
}
