import { resolve } from 'node:path';
import { isUsableCode } from '../../base/codes.ts';
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
import type { NewDeadLetter } from '../../warehouse/dead-letters.ts';
import type { CatalogKind } from '../../warehouse/orders/catalog-links.ts';
import { checkDates, checkNewOrders, checkStatuses, checkSums } from './check-shop-values.ts';
import { applying, type Finding, failed, fault, inTime, ok, warning } from './finding.ts';

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
  // A fault, such as lines that a join repeats, explains their sum.
  const sums = findings.some(({ level }) => level === 'fault') ? [] : checkSums(orders);
  const ofValues = [...sums, ...checkStatuses(lines)];
  if (findings.length > 0) return [...findings, ...ofValues];
  if (lines.length === 0) {
    return [warning('order_lines.sql fits, but the orders have no line', 'see whether its conditions are right')];
  }
  return [...ofValues, isFine('orders.sql', orders), isFine('order_lines.sql', lines)];
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

/** Rows that no run may find, with an example; only keys are shown, not values of customers. */
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
    // All rows are looked at: in a large shop that is not possible within 30 s.
    if (!isShopCancelled(error)) throw error;
    const what = 'orders.sql: it is unknown whether rows have no code or no date: looking took over 30 s';
    return [warning(what, 'run the query by hand with: where code is null')];
  }
}

/**
 * Rows that would become dead letters, by reason, each with the key of an example. If there are no `others` that can be
 * synced, the query is wrong, and not its rows.
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
    return findings.length > 0 ? findings : [isFine(file, rows)];
  });

const isFine = (file: string, rows: readonly unknown[]) =>
  ok(`${file} fits the contract: ${counted(rows.length, 'row')}, all right`);

/** A statement that takes longer than this reads more than it needs, whatever its plan says. */
const slowSeconds = 5;

/** Explains and times each statement that runs send to the shop. */
export async function checkQueryCosts(shop: Shop): Promise<Finding[]> {
  const costs = await shop.queryCosts();
  if (costs.length === 0) return [];
  // One for each file: its statements fail for the same reason.
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
