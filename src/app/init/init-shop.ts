import { describeError, ReviewSyncError, UsageError } from '../../base/errors.ts';
import { isTimeZone } from '../../base/time/span.ts';
import { openShop, type Shop } from '../../shop/index.ts';
import type { ShopTables } from '../../shop/tables.ts';
import { assumedServiceZone, type Config } from '../config.ts';
import { checkShop } from '../doctor/check-shop.ts';
import { withClosing } from '../doctor/finding.ts';
import { askZone } from '../service-zone.ts';
import { completeEnvFile, type EnvLine, keptVariables } from './env-file.ts';
import { type Preset, readPresets } from './presets.ts';
import { asWritten, differingColumns, nearest, type Recognised, recognise } from './recognise.ts';
import { asNamedHere, writeQueries } from './write-queries.ts';

export type InitInput = {
  /** SHOP_DATABASE_URL. */
  url: string;
  /** The folder into which the queries go. */
  dir: string;
  /** Name of a preset, in place of what the tables say. */
  preset: string | undefined;
  /** The prefix of the tables, if several shops share a database. */
  prefix?: string | undefined;
  force: boolean;
  /** SHOP_TIME_ZONE, if it is set. */
  timeZone: string | undefined;
  /** The service's address and credentials, where they are set. */
  api?: Pick<Config['api'], 'baseUrl' | 'clientId' | 'clientSecret'> | undefined;
  /** Variables that are set in the environment or in .env already. */
  isSet(name: string): boolean;
  envFile: string;
  /** Variables that do not belong into this file. */
  leftOut?: readonly string[];
};

export type InitReport = Awaited<ReturnType<typeof initShop>>;

/**
 * Sets review-sync up for a shop.
 *
 * 1. Read the names of the shop's tables, and recognise the system, its schema and its prefix by them.
 * 2. Write its queries, or the commented template for an unknown system, unless there are queries already.
 * 3. Add to .env what it lacks; the zone of the service by asking the service.
 * 4. Run the doctor's checks of the shop.
 *
 * @throws UsageError for a preset that is not known; ReviewSyncError if the shop database cannot be used or shows no
 *   table.
 */
export async function initShop(input: InitInput) {
  const { url, dir, api, isSet } = input;
  return withClosing(openShop({ url, sqlDir: dir, connections: 1, timeZone: 'UTC' }), async (looking) => {
    const tables = await looking.tables();
    if (tables.tables.length === 0) {
      throw new ReviewSyncError('no-tables', 'The user of SHOP_DATABASE_URL sees no table; nothing was written.', {
        hint: 'Grant select on the tables of the shop, or correct the name of the database; then run init again.',
      });
    }
    const { found, others } = await chosen(input, tables, looking);
    const timeZone = input.timeZone ?? (found && (await zoneOf(found, looking)));
    const queries = await writeQueries(dir, found, { force: input.force, dialect: looking.dialect });
    const warnings = found
      ? [...missingTables(found, tables), ...alternatives(others), ...zoneFault(input, found)]
      : unknownSystem(await readPresets(), tables);
    let serviceZone: string | undefined;
    try {
      const zones = [assumedServiceZone, ...(timeZone ? [timeZone] : []), 'UTC'];
      if (api && !isSet('REVIEW_API_TIME_ZONE')) {
        serviceZone = await askZone(api, zones);
        if (serviceZone === undefined) warnings.push(zoneAssumed);
      }
    } catch (error) {
      warnings.push(`The service could not be asked for REVIEW_API_TIME_ZONE: ${describeError(error)}`);
    }
    const lines = linesFor(input, found, timeZone, serviceZone).filter(({ name }) => !input.leftOut?.includes(name));
    warnings.push(...(await keptVariables(input.envFile, lines)));
    const checked = openShop({ url, sqlDir: dir, timeZone, connections: 1 });
    return {
      envFile: input.envFile,
      preset: found && {
        name: found.preset.name,
        title: found.preset.title,
        prefix: found.prefix,
        schema: found.schema,
      },
      /** What a person should know before the queries are used, one sentence each. */
      warnings,
      dir,
      queries,
      /** Names of variables that were added to .env. */
      variables: await completeEnvFile(input.envFile, lines),
      /** Variables that a person has to fill in before the next command. */
      toFillIn: lines.filter(({ value, mayBeEmpty }) => value === '' && !mayBeEmpty).map(({ name }) => name),
      /** What the doctor says of the shop; empty for the commented template, which fits the sample shop only. */
      findings: await withClosing(checked, async () => (found ? checkShop(checked, dir) : [])),
    };
  });
}

const zoneAssumed =
  'The service could not be asked for REVIEW_API_TIME_ZONE: it has no review yet, or its dates fit no zone. ' +
  `${assumedServiceZone} is assumed. Ask the makers of the service, and write another zone into .env.`;

/** The preset that was asked for, or the first one whose own condition holds. */
async function chosen(
  { preset: name, prefix }: InitInput,
  tables: ShopTables,
  shop: Shop,
): Promise<{ found: Recognised | undefined; others: Recognised[] }> {
  const presets = await readPresets();
  const wanted = presets.find((preset) => preset.name === name);
  if (name !== undefined && wanted === undefined) {
    throw new UsageError(`There is no preset ${name}`, {
      hint: `These are there: ${presets.map((preset) => preset.name).join(', ')}. See: review-sync init --list`,
    });
  }
  if (wanted && wanted.database !== tables.dialect) {
    const is = tables.dialect === 'mysql' ? 'MySQL or MariaDB' : 'Postgres';
    throw new UsageError(`The preset ${wanted.name} is for ${wanted.title}, and SHOP_DATABASE_URL is ${is}`);
  }
  const fitting: Recognised[] = [];
  for (const one of recognise(wanted ? [wanted] : presets, tables)) {
    if (prefix !== undefined && one.prefix !== prefix) continue;
    const { onlyWhere } = one.preset;
    if (onlyWhere === undefined || (await shop.value(asNamedHere(onlyWhere, one))) !== undefined) fitting.push(one);
  }
  if (prefix !== undefined && fitting.length === 0) {
    throw new UsageError(
      `No tables of ${wanted?.title ?? 'a known shop system'} have the prefix ${JSON.stringify(prefix)}`,
    );
  }
  const [found = wanted && asWritten(wanted), ...others] = fitting;
  return { found, others };
}

function alternatives(others: readonly Recognised[]): string[] {
  return others.map(({ preset, prefix, schema }) => {
    const place = [prefix && `, prefix ${prefix}`, schema && `, schema ${schema}`].filter(Boolean).join('');
    // A shell would take a $ for the beginning of a variable.
    const quoted = prefix.includes('$') ? `'${prefix}'` : prefix;
    const options = `--preset ${preset.name}${prefix && ` --prefix ${quoted}`} --force`;
    return `The tables fit ${preset.title}${place} too. To take that: review-sync init ${options}`;
  });
}

/** Tables and columns that the preset reads and the shop does not show. */
function missingTables({ preset, renames, schema }: Recognised, { tables }: ShopTables): string[] {
  const missing = Object.entries(preset.tables).flatMap(([written, columns]) => {
    const name = renames.get(written) ?? written;
    const table = tables.find((one) => one.name === name && one.schema === schema);
    if (!table) return [name];
    return differingColumns(columns, table).map((column) => `${name}.${column}`);
  });
  if (missing.length === 0) return [];
  const others = missing.flatMap((name) => (name.includes('.!') ? name.replace('!', '') : []));
  if (others.length === missing.length) {
    return [`The shop has ${others.join(', ')}, which ${preset.title} does not have: it is another system or version.`];
  }
  return [
    `The user of SHOP_DATABASE_URL does not see ${missing.join(', ')}: it is another system or version, or select is not granted on them.`,
  ];
}

/** Why no system was recognised: a user who may not read all tables sees only those that are granted. */
function unknownSystem(presets: readonly Preset[], tables: ShopTables): string[] {
  const near = nearest(presets, tables);
  if (near) return [`The tables are nearly those of ${near.preset.title}.`, ...missingTables(near, tables)];
  const { length } = tables.tables;
  const seen = `The user of SHOP_DATABASE_URL sees ${length} ${length === 1 ? 'table' : 'tables'}.`;
  return [`${seen} If the shop has more, grant select on them and run init again.`];
}

function zoneFault({ timeZone }: InitInput, { preset }: Recognised): string[] {
  const own = preset.timeZone;
  if (timeZone === undefined || own === undefined || own === 'ask' || own === timeZone) return [];
  return [`SHOP_TIME_ZONE is ${timeZone}, but ${preset.title} writes its dates in ${own}.`];
}

/** The zone of the system's dates without zone; undefined if it has none, or nobody knows it. */
async function zoneOf(found: Recognised, shop: Shop): Promise<string | undefined> {
  const { timeZone, timeZoneQuery } = found.preset;
  if (timeZone !== 'ask') return timeZone;
  if (timeZoneQuery === undefined) return undefined;
  const zone = await shop.value(asNamedHere(timeZoneQuery, found));
  return zone !== undefined && isTimeZone(zone) ? zone : undefined;
}

function linesFor(
  { url, dir, isSet }: InitInput,
  found: Recognised | undefined,
  timeZone: string | undefined,
  serviceZone: string | undefined,
): EnvLine[] {
  const lines: EnvLine[] = [
    { name: 'SHOP_DATABASE_URL', value: url, comment: 'The shop database; review-sync only reads it.' },
    { name: 'SHOP_SQL_DIR', value: dir, comment: 'Folder of the shop queries.' },
  ];
  const ofDates = 'IANA zone of dates without zone in the shop, such as Asia/Seoul';
  if (found === undefined) {
    const comment = `${ofDates}; empty if all dates have a zone.`;
    lines.push({ name: 'SHOP_TIME_ZONE', value: timeZone ?? '', comment, mayBeEmpty: true });
  } else if (found.preset.timeZone !== undefined) {
    lines.push({ name: 'SHOP_TIME_ZONE', value: timeZone ?? '', comment: `${ofDates}.` });
  }
  if (found?.preset.reconcile !== undefined && !isSet('SCHEDULE_RECONCILE')) {
    const comment =
      'The shop keeps no date of most changes: the reconcile, which finds them, runs more often than once a day.';
    lines.push({ name: 'SCHEDULE_RECONCILE', value: found.preset.reconcile, comment });
  }
  if (serviceZone !== undefined) {
    const comment = serviceZone.startsWith('Etc/')
      ? 'The offset that the service shows now. If its clocks change, write its IANA zone, such as Europe/Berlin.'
      : 'IANA zone in which the service reads and shows dates, as its newest review shows it.';
    lines.push({ name: 'REVIEW_API_TIME_ZONE', value: serviceZone, comment });
  }
  const open = {
    WAREHOUSE_DATABASE_URL: 'An empty Postgres database for reviews and for our own state.',
    REVIEW_API_BASE_URL: 'The review service, and the credentials for its token.',
    REVIEW_API_CLIENT_ID: 'From the makers of the service.',
    REVIEW_API_CLIENT_SECRET: 'From the makers of the service.',
  };
  // An empty line in .env says what is still missing. What the environment sets is not missing.
  const missing = Object.entries(open).filter(([name]) => !isSet(name));
  return [...lines, ...missing.map(([name, comment]) => ({ name, value: '', comment }))];
}
