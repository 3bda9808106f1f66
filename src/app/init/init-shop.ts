import { describeError, ReviewSyncError, UsageError } from '../../base/errors.ts';
import { isTimeZone } from '../../base/time/span.ts';
import { openShop, type Shop } from '../../shop/index.ts';
import type { ShopTables } from '../../shop/tables.ts';
import { assumedServiceZone, type Config } from '../config.ts';
import { checkShop } from '../doctor/check-shop.ts';
import { withClosing } from '../doctor/finding.ts';
import { askZone } from '../service-zone.ts';
import { completeEnvFile, type EnvLine } from './env-file.ts';
import { type Preset, readPresets } from './presets.ts';
import { asWritten, type Recognised, recognise } from './recognise.ts';
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
    const zones = [assumedServiceZone, ...(timeZone ? [timeZone] : []), 'UTC'];
    const asked = api && !isSet('REVIEW_API_TIME_ZONE') ? await zoneOfService(api, zones) : {};
    const warnings = [...alternatives(others), ...(asked.unknown ? [asked.unknown] : [])];
    const lines = linesFor(input, found?.preset, timeZone ?? '', asked.zone).filter(
      ({ name }) => !input.leftOut?.includes(name),
    );
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
      toFillIn: lines
        .filter(({ name, value }) => value === '' && (found || name !== 'SHOP_TIME_ZONE'))
        .map(({ name }) => name),
      /** What the doctor says of the shop; empty for the commented template, which fits the sample shop only. */
      findings: await withClosing(checked, async () => (found ? checkShop(checked, dir) : [])),
    };
  });
}

/** The zone of the service, or why it is not known. */
async function zoneOfService(
  api: NonNullable<InitInput['api']>,
  zones: readonly string[],
): Promise<{ zone?: string; unknown?: string }> {
  const zone = await askZone(api, zones).catch((error: unknown) => ({ why: describeError(error) }));
  if (typeof zone === 'string') return { zone };
  const why = zone?.why ?? `it has no review yet, or its dates are of none of ${zones.join(', ')}`;
  return {
    unknown:
      `The service could not say its time zone: ${why}. ${assumedServiceZone} is assumed; if its makers name another ` +
      'one, set REVIEW_API_TIME_ZONE.',
  };
}

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
    // A shell would take a $ for the beginning of a variable.
    const options = `--preset ${preset.name}${prefix && ` --prefix '${prefix}'`} --force`;
    const place = schema ? `, schema ${schema}` : '';
    return `The tables fit ${preset.title}${place} too. To take that: review-sync init ${options}`;
  });
}

/** The zone of the system's dates without zone; undefined if it has none, or nobody knows it. */
async function zoneOf(found: Recognised, shop: Shop): Promise<string | undefined> {
  const { timeZone, timeZoneQuery } = found.preset;
  if (timeZone !== 'ask') return timeZone;
  if (timeZoneQuery === undefined) return undefined;
  const zone = await shop.value(asNamedHere(timeZoneQuery, found));
  return zone !== undefined && isTimeZone(zone) ? zone : undefined;
}

/** The lines of .env. An empty one says what is still missing; what the environment sets is not missing. */
function linesFor(
  { url, dir, isSet }: InitInput,
  preset: Preset | undefined,
  timeZone: string,
  serviceZone: string | undefined,
): EnvLine[] {
  const unset = (name: string, value: string | undefined = '') => (isSet(name) ? undefined : value);
  const needsZone = preset === undefined || preset.timeZone !== undefined;
  const lines: [name: string, value: string | undefined, comment: string][] = [
    ['SHOP_DATABASE_URL', url, 'The shop database; review-sync only reads it.'],
    ['SHOP_SQL_DIR', dir, 'Folder of the shop queries.'],
    [
      'SHOP_TIME_ZONE',
      needsZone ? timeZone : undefined,
      'IANA zone of dates without zone in the shop, such as Asia/Seoul; empty if all dates have a zone.',
    ],
    [
      'SCHEDULE_RECONCILE',
      preset?.reconcile && unset('SCHEDULE_RECONCILE', preset.reconcile),
      'The shop keeps no date of most changes: the reconcile, which finds them, runs more often than once a day.',
    ],
    [
      'REVIEW_API_TIME_ZONE',
      serviceZone,
      'IANA zone in which the service reads and shows dates, as its newest review shows it.',
    ],
    [
      'WAREHOUSE_DATABASE_URL',
      unset('WAREHOUSE_DATABASE_URL'),
      'An empty Postgres database for reviews and our own state.',
    ],
    ['REVIEW_API_BASE_URL', unset('REVIEW_API_BASE_URL'), 'The review service, and the credentials for its token.'],
    ['REVIEW_API_CLIENT_ID', unset('REVIEW_API_CLIENT_ID'), 'From the makers of the service.'],
    ['REVIEW_API_CLIENT_SECRET', unset('REVIEW_API_CLIENT_SECRET'), 'From the makers of the service.'],
  ];
  return lines.flatMap(([name, value, comment]) => (value === undefined ? [] : [{ name, value, comment }]));
}
