import { resolve } from 'node:path';
import { isUsableCode } from '../../base/codes.ts';
import { codesText, counted } from '../../base/counts.ts';
import { describeError, ReviewSyncError, UsageError } from '../../base/errors.ts';
import { packagePath } from '../../base/package-path.ts';
import type { QueryName } from '../../shop/contract.ts';
import type { ShopFacts } from '../../shop/driver.ts';
import type { Shop } from '../../shop/index.ts';
import { keylessAtMost, type RawOrder } from '../../shop/orders.ts';
import { type RawRow, type Read, readCategory, readOrder, readOrderLine, readUserGrade } from '../../shop/rows.ts';
import { isShopTimeout } from '../../shop/session.ts';
import { checkQueryCosts } from './check-query-costs.ts';
import { checkChanges, checkDates, checkNewOrders, checkStatuses, checkSums } from './check-shop-values.ts';
import { applying, databaseFault, type Finding, fault, inTime, ok, warning } from './finding.ts';

/**
 * Checks the rights, every query against the contract, and a sample of the orders, read as a run reads them. It names what
 * a run would make a dead letter. Changes nothing.
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
      ...(await checkCatalog(shop, 'categories', readCategory)),
      ...(await checkCatalog(shop, 'user_grades', readUserGrade)),
    ];
  } catch (error) {
    return [databaseFault('cannot be used', error, 'SHOP_DATABASE_URL')];
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
    // The session keeps the shop's search path, so it calls what another role puts into a schema of that path.
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

/** @param folder where the query must be; undefined: it may be absent. */
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
    return [databaseFault(`${file} could not be run`, error, 'SHOP_DATABASE_URL')];
  }
}

const correctRows = 'correct the rows, or the query; each waits as a dead letter until then';
const correctOrLeaveOut = 'correct the rows, or leave them out of the query';
const sameCode = 'let order_lines.sql select as order_code what orders.sql selects as code';
const eachOnce = 'let the query give each once: a join may multiply rows';

async function checkOrders(shop: Shop): Promise<Finding[]> {
  const { orders, linesWithoutOrderCode } = await shop.orderSample();
  const lines = orders.flatMap((one) => one.lines);
  const keyless = await keylessOrders(shop);
  if (orders.length === 0 && keyless.length === 0) {
    return [warning('orders.sql fits, but finds no row', 'see whether its conditions are right')];
  }
  const linesFault = await shop.linesFault();
  const orphans = `order_lines.sql: ${counted(linesWithoutOrderCode, 'row')} without order_code: no order will show them`;
  const now = await shop.now();
  const findings = [
    ...checkRows(orders, lines),
    ...(linesFault === undefined ? [] : [fault(linesFault, sameCode)]),
    ...keyless,
    ...applying(warning, [[linesWithoutOrderCode > 0, orphans, correctOrLeaveOut]]),
    ...checkDates(orders, now, shop.dialect),
    ...(await checkChanges(shop, now)),
    ...(await checkNewOrders(shop, orders, now)),
  ];
  // A fault, such as lines that a join repeats, explains their sum.
  const sums = findings.some(({ level }) => level === 'fault') ? [] : checkSums(orders);
  const ofValues = [...sums, ...checkStatuses(lines)];
  if (findings.length > 0) return [...findings, ...ofValues];
  if (lines.length === 0) {
    return [warning('order_lines.sql fits, but the orders have no line', 'see whether its conditions are right')];
  }
  return [
    ...ofValues,
    ok(`orders.sql fits the contract: ${counted(orders.length, 'row')}, all right`),
    ok(`order_lines.sql fits the contract: ${counted(lines.length, 'row')}, all right`),
  ];
}

/** Rows that would become dead letters, and lines that are there twice. */
function checkRows(orders: readonly RawOrder[], lines: readonly RawRow[]): Finding[] {
  const lineName = (line: RawRow) => `line_code ${line.line_code} of order ${line.order_code}`;
  const unreadable = orders.flatMap(({ order, fault: reason }) =>
    reason ? [{ key: `order ${order.code}`, reason }] : [],
  );
  const misread = orders.flatMap(({ order, fault: reason }) =>
    reason === undefined ? misfitOf(`order ${order.code}`, readOrder(order)) : [],
  );
  const misreadLines = lines.flatMap((line) => misfitOf(lineName(line), readOrderLine(line)));
  // If no row can be sent, the query is wrong, and not its rows.
  const levelOf = (found: readonly Misfit[], all: readonly unknown[]) => (found.length < all.length ? warning : fault);
  return [
    ...misfits('orders.sql', orders.length, unreadable, fault),
    ...misfits('orders.sql', orders.length, misread, levelOf(misread, orders)),
    ...misfits('order_lines.sql', lines.length, misreadLines, levelOf(misreadLines, lines)),
    ...twins('order_lines.sql', lines.map(lineName)),
  ];
}

/** Looks at all rows of orders.sql: in a large shop that is not possible within 30 s. */
async function keylessOrders(shop: Shop): Promise<Finding[]> {
  try {
    return keylessRows(await shop.keylessOrders());
  } catch (error) {
    if (!isShopTimeout(error)) throw error;
    const what = 'orders.sql: it is unknown whether rows have no code or no date: looking took over 30 s';
    return [warning(what, 'run the query by hand with: where code is null')];
  }
}

type Misfit = { key: string; reason: string };

const misfitOf = (key: string, read: Read<unknown>): Misfit[] => ('fault' in read ? [{ key, reason: read.fault }] : []);

/** Rows that would become dead letters, by reason, each with an example; only keys are shown, not values of customers. */
function misfits(file: string, total: number, found: readonly Misfit[], level = warning): Finding[] {
  return [...Map.groupBy(found, ({ reason }) => reason)].map(([reason, same]) =>
    level(
      `${file}: ${same.length} of ${total} rows would not be synced, such as: ${reason} (${same[0]?.key})`,
      correctRows,
    ),
  );
}

/** Rows that no run may find, with an example; only keys are shown, not values of customers. */
function keylessRows(rows: readonly RawRow[]): Finding[] {
  const nameOf = ({ code, created_at: at }: RawRow) =>
    isUsableCode(code) ? `order ${code}` : `an order created at ${at ?? 'an unknown time'}`;
  const [example] = rows.flatMap((row) => misfitOf(nameOf(row), readOrder(row)));
  if (!example) return [];
  const howMany = `${rows.length === keylessAtMost ? 'at least ' : ''}${counted(rows.length, 'row')}`;
  const what = `${howMany} that runs may not find, such as: ${example.reason} (${example.key})`;
  return [warning(`orders.sql: ${what}`, correctOrLeaveOut)];
}

function twins(file: string, keys: readonly string[]): Finding[] {
  const twin = [...Map.groupBy(keys, (key) => key)].find(([, same]) => same.length > 1);
  return twin ? [fault(`${file}: ${twin[0]} is there ${twin[1].length} times`, eachOnce)] : [];
}

const checkCatalog = (
  shop: Shop,
  name: 'categories' | 'user_grades',
  read: (row: RawRow) => Read<unknown>,
): Promise<Finding[]> =>
  guarded(`${name}.sql`, async () => {
    const file = `${name}.sql`;
    const rows = await shop.catalog(name);
    if (!rows) return [ok(`${file} is absent: that part is not synced`)];
    const keyOf = (row: RawRow) => `code ${row.code}`;
    const bad = rows.flatMap(({ row, fault: reason }) =>
      reason ? [{ key: keyOf(row), reason }] : misfitOf(keyOf(row), read(row)),
    );
    const keys = rows.map(({ row }) => keyOf(row));
    const findings = [...misfits(file, rows.length, bad), ...twins(file, keys)];
    return findings.length > 0
      ? findings
      : [ok(`${file} fits the contract: ${counted(rows.length, 'row')}, all right`)];
  });
