import { resolve } from 'node:path';
import { describeError, UsageError } from '../errors.ts';
import { type Finding, fault, ok, warning } from '../finding.ts';
import type { QueryName } from '../shop/contract.ts';
import type { Shop } from '../shop/index.ts';
import { type RawRow, type Read, readCategory, readOrder, readOrderLine, readUserGrade } from '../shop/rows.ts';
import { databaseFault } from './database-trouble.ts';
import { inTime } from './in-time.ts';

const sampleSize = 200;

type Query = {
  name: QueryName;
  read: (row: RawRow) => Read<unknown>;
  /** What tells one row from another. */
  key: (row: RawRow) => string;
  isOptional?: true;
};

const queries: readonly Query[] = [
  { name: 'orders', read: readOrder, key: (row) => `code ${row.code}` },
  { name: 'order_lines', read: readOrderLine, key: (row) => `line_code ${row.line_code} of order ${row.order_code}` },
  { name: 'categories', read: readCategory, key: (row) => `code ${row.code}`, isOptional: true },
  { name: 'user_grades', read: readUserGrade, key: (row) => `code ${row.code}`, isOptional: true },
];

/** Rights, and every query against the contract with a sample of its rows. Changes nothing. */
export async function checkShop(shop: Shop, at: { url: string; sqlDir: string }): Promise<Finding[]> {
  try {
    const facts = await inTime(shop.facts(), at.url);
    const is = `Postgres ${facts.version}, user ${facts.user}`;
    const findings = [facts.writable === 0 ? ok(`${is}, who may only read`) : mayWrite(is, facts)];
    for (const query of queries) findings.push(...(await checkQuery(shop, query, resolve(at.sqlDir))));
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

async function checkQuery(shop: Shop, query: Query, folder: string): Promise<Finding[]> {
  const file = `${query.name}.sql`;
  try {
    const begun = performance.now();
    const rows = await shop.sample(query.name, sampleSize);
    const seconds = (performance.now() - begun) / 1000;
    if (!rows) {
      return query.isOptional
        ? [ok(`${file} is absent: that part is not synced`)]
        : [
            fault(
              `${file} is missing in ${folder}`,
              'write it as in sql/shop, or point SHOP_SQL_DIR at the folder that holds it',
            ),
          ];
    }
    if (rows.length === 0 && !query.isOptional) {
      return [warning(`${file} fits, but finds no row`, 'see whether its conditions are right')];
    }
    const faults = [...rowFaults(query, rows), ...twins(query, rows), ...aheadOfTime(query, rows, await shop.now())];
    const took = `${rows.length} rows in ${seconds.toFixed(seconds < 1 ? 2 : 0)} s`;
    if (faults.length > 0) return faults;
    if (seconds > 20) return [warning(`${file} fits, but is slow: ${took}`, 'give updated_at and code an index')];
    return [ok(`${file} fits the contract: ${took}, all right`)];
  } catch (error) {
    if (error instanceof UsageError) return [fault(describeError(error), error.hint ?? `correct ${file}`)];
    return [databaseFault(`${file} could not be run`, error, 'SHOP_DATABASE_URL')];
  }
}

/** Rows that would become dead letters; the values are not shown, they may be a customer's. */
function rowFaults({ name, read }: Query, rows: readonly RawRow[]): Finding[] {
  const faults = rows.flatMap((row) => {
    const result = read(row);
    return 'fault' in result ? [result.fault] : [];
  });
  if (faults.length === 0) return [];
  const what = `${name}.sql: ${faults.length} of ${rows.length} rows would not be synced, such as: ${faults[0]}`;
  return [warning(what, 'correct the rows, or the query; each waits as a dead letter until then')];
}

/** They are pushed, and read again by each run until their time has come. */
function aheadOfTime({ name }: Query, rows: readonly RawRow[], now: string): Finding[] {
  const ahead = rows.filter(
    (row) => typeof row.updated_at === 'string' && Date.parse(row.updated_at) > Date.parse(now),
  );
  if (ahead.length === 0) return [];
  const what = `${name}.sql: ${ahead.length} of ${rows.length} rows have an updated_at in the future, such as ${ahead[0]?.updated_at}`;
  return [warning(what, 'correct the rows, or say in the query which zone updated_at is in')];
}

function twins({ name, key }: Query, rows: readonly RawRow[]): Finding[] {
  const groups = Map.groupBy(rows, key);
  const twin = [...groups].find(([, same]) => same.length > 1);
  if (!twin) return [];
  return [
    fault(
      `${name}.sql: ${twin[0]} is there ${twin[1].length} times`,
      'let the query give each once: a join may multiply rows',
    ),
  ];
}
