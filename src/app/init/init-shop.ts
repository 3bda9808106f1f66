import { appendFile, chmod, readFile, writeFile } from 'node:fs/promises';
import { ReviewSyncError, UsageError } from '../../base/errors.ts';
import { parseEnvFile } from '../../base/parse-env-file.ts';
import { isTimeZone } from '../../base/time/span.ts';
import { openShop, type Shop } from '../../shop/index.ts';
import type { ShopTables } from '../../shop/tables.ts';
import { type Environment, readShopConfig } from '../config.ts';
import { checkShop } from '../doctor/check-shop.ts';
import { withClosing } from '../doctor/finding.ts';
import { asNamedHere, type Preset, type Recognised, readPresets, recognise, writeQueries } from './presets.ts';

export type InitInput = {
  /** The command line without its preset options, for use in sentences. */
  command: string;
  /** The environment, including the variables of `envFile`. */
  environment: Environment;
  /** The folder of the queries. */
  dir: string;
  /** The name of a preset. Absent: the tables decide. */
  preset?: string | undefined;
  /** The prefix of the tables, if several shops share a database. */
  prefix?: string | undefined;
  force?: boolean | undefined;
  envFile: string;
  /** Variables that do not belong in this file. */
  leftOut?: readonly string[];
};

export type InitReport = Awaited<ReturnType<typeof initShop>>;

/**
 * Sets review-sync up for a shop.
 *
 * 1. Read the shop's table names. They identify the system, its schema and its prefix.
 * 2. Write its queries, or the commented template for an unknown system, unless there are queries already.
 * 3. Add missing variables to .env.
 * 4. Run the doctor's checks of the shop.
 *
 * @throws UsageError for an unknown preset; ReviewSyncError if the shop database cannot be used or shows no table.
 */
export async function initShop(input: InitInput) {
  const { dir, force = false } = input;
  const { url, timeZone: given } = readShopConfig(input.environment);
  return withClosing(openShop({ url, sqlDir: dir, connections: 1, timeZone: 'UTC' }), async (looking) => {
    const tables = await looking.tables();
    if (tables.tables.length === 0) {
      throw new ReviewSyncError('no-tables', 'The user of SHOP_DATABASE_URL sees no table; nothing was written.', {
        hint: 'Grant select on the tables of the shop, or correct the name of the database; then run init again.',
      });
    }
    const { found, others } = await chosen(input, tables, looking);
    const timeZone = given ?? (found && (await zoneOf(found, looking)));
    const queries = await writeQueries(dir, found, { force, dialect: looking.dialect });
    const lines = linesFor(input, url, found?.preset, timeZone);
    const checked = openShop({ url, sqlDir: dir, timeZone, connections: 1 });
    return {
      envFile: input.envFile,
      preset: found && {
        name: found.preset.name,
        title: found.preset.title,
        prefix: found.prefix,
        schema: found.schema,
      },
      /** Other systems that the tables fit, one sentence each. */
      warnings: alternatives(others, input.command),
      dir,
      queries,
      /** Names of variables that were added to .env. */
      variables: await completeEnvFile(input.envFile, lines),
      /** Variables that a person must fill in before the next command. */
      toFillIn: lines
        .filter(({ name, value }) => value === '' && (found || name !== 'SHOP_TIME_ZONE'))
        .map(({ name }) => name),
      /** The doctor's findings about the shop; empty for the commented template, which fits only the sample shop. */
      findings: await withClosing(checked, async () => (found ? checkShop(checked, dir) : [])),
    };
  });
}

/** The requested preset, or the first that fits the tables and, if it has `onlyWhere`, the shop. */
async function chosen({ preset: name, prefix }: InitInput, tables: ShopTables, shop: Shop) {
  const presets = (await readPresets()).filter(({ database }) => database === tables.dialect);
  const wanted = presets.find((preset) => preset.name === name);
  if (name !== undefined && wanted === undefined) {
    const is = tables.dialect === 'mysql' ? 'MySQL or MariaDB' : 'Postgres';
    throw new UsageError(`There is no preset ${name} for a shop on ${is}`, {
      hint: `These are there: ${presets.map((preset) => preset.name).join(', ')}. See: review-sync init --list`,
    });
  }
  const fitting: Recognised[] = [];
  for (const one of recognise(wanted ? [wanted] : presets, tables.tables)) {
    if (prefix !== undefined && one.prefix !== prefix) continue;
    const { onlyWhere } = one.preset;
    if (onlyWhere === undefined || (await shop.value(asNamedHere(onlyWhere, one))) !== undefined) fitting.push(one);
  }
  if (prefix !== undefined && fitting.length === 0) {
    const system = wanted?.title ?? 'a known shop system';
    throw new UsageError(`No tables of ${system} have the prefix ${JSON.stringify(prefix)}`);
  }
  // If a person names a preset, use it even without its tables.
  const asWritten: Recognised | undefined = wanted && { preset: wanted, prefix: wanted.prefix, schema: undefined };
  const [found = asWritten, ...others] = fitting;
  return { found, others };
}

function alternatives(others: readonly Recognised[], command: string): string[] {
  return others.map(({ preset, prefix, schema }) => {
    // A shell would read a $ as the start of a variable.
    const options = `--preset ${preset.name}${prefix && ` --prefix '${prefix}'`} --force`;
    const place = schema ? `, schema ${schema}` : '';
    return `The tables fit ${preset.title}${place} too. To take that: ${command} ${options}`;
  });
}

/** The zone of the system's dates without zone; undefined if there are no such dates, or the zone is unknown. */
async function zoneOf(found: Recognised, shop: Shop): Promise<string | undefined> {
  const { timeZone, timeZoneQuery } = found.preset;
  if (timeZone !== 'ask') return timeZone;
  if (timeZoneQuery === undefined) return undefined;
  const zone = await shop.value(asNamedHere(timeZoneQuery, found));
  return zone !== undefined && isTimeZone(zone) ? zone : undefined;
}

/** The comment above each variable that init writes. */
const comments: Readonly<Record<string, string>> = {
  SHOP_DATABASE_URL: 'The shop database; review-sync only reads it.',
  SHOP_SQL_DIR: 'Folder of the shop queries.',
  SHOP_TIME_ZONE: 'IANA zone of dates without zone in the shop, such as Asia/Seoul; empty if all dates have a zone.',
  SCHEDULE_RECONCILE:
    'The shop keeps no date of most changes: the reconcile, which finds them, runs more often than once a day.',
  WAREHOUSE_DATABASE_URL: 'An empty Postgres database for reviews and our own state.',
  REVIEW_API_BASE_URL: 'The review service, and the credentials for its token.',
  REVIEW_API_CLIENT_ID: 'From the makers of the service.',
  REVIEW_API_CLIENT_SECRET: 'From the makers of the service.',
};

/** The lines of .env. An empty value is still missing. A variable that the environment sets is not missing. */
function linesFor({ environment, dir, leftOut = [] }: InitInput, url: string, preset?: Preset, timeZone = '') {
  const needsZone = preset === undefined || preset.timeZone !== undefined;
  const ofShop = { SHOP_DATABASE_URL: url, SHOP_SQL_DIR: dir, ...(needsZone && { SHOP_TIME_ZONE: timeZone }) };
  const others = {
    ...(preset?.reconcile && { SCHEDULE_RECONCILE: preset.reconcile }),
    WAREHOUSE_DATABASE_URL: '',
    REVIEW_API_BASE_URL: '',
    REVIEW_API_CLIENT_ID: '',
    REVIEW_API_CLIENT_SECRET: '',
  };
  const missing = Object.entries(others).filter(([name]) => (environment[name] ?? '').trim() === '');
  return [...Object.entries(ofShop), ...missing]
    .filter(([name]) => !leftOut.includes(name))
    .map(([name, value]) => ({ name, value, comment: comments[name] ?? '' }));
}

/**
 * Adds the variables that the file lacks, at its end, and makes it readable for its owner only.
 *
 * @returns the names that were added. @throws UsageError if a value cannot be written in such a file.
 */
export async function completeEnvFile(file: string, wanted: ReturnType<typeof linesFor>): Promise<string[]> {
  const before = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw new UsageError(`${file} cannot be read`, { cause: error });
  });
  const there = parseEnvFile(before ?? '');
  const added = wanted.filter(({ name }) => !(name in there));
  if (added.length === 0) return [];
  const text = added.map(({ name, value, comment }) => `# ${comment}\n${name}=${quoted(name, value)}\n`).join('\n');
  if (before === undefined) await writeFile(file, text, { mode: 0o600, flag: 'wx' });
  else {
    await chmod(file, 0o600);
    await appendFile(file, `${before === '' || before.endsWith('\n') ? '' : '\n'}\n${text}`);
  }
  return added.map(({ name }) => name);
}

function quoted(name: string, value: string): string {
  if (/^[\w:/@.%+,?&=~-]*$/.test(value)) return value;
  const quote = ["'", '"', '`'].find((sign) => !value.includes(sign));
  if (quote === undefined || value.includes('\n')) {
    throw new UsageError(`The value of ${name} cannot be written into .env`, { hint: `Write ${name} yourself.` });
  }
  return `${quote}${value}${quote}`;
}
