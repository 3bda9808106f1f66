import { type Brand, configOf, readBrands } from '../app/brands.ts';
import { readDeployment, readLogLevel, readWarehouseConfig, shortLockSeconds } from '../app/config.ts';
import { exitStatus, UsageError } from '../base/errors.ts';
import { isLockedOut, openWarehouse } from '../warehouse/index.ts';
import { sessionsOnOurTables } from '../warehouse/lock-waits.ts';
import type { Context, Reach, Report, Work } from './command.ts';
import { describeFailure, failureJson } from './failure.ts';
import type { Surroundings } from './program.ts';

/** This file is loaded by a command that is called: `--help` needs neither configuration nor log. */
type Around = Surroundings & Pick<Context['terminal'], 'draw'> & Pick<Context, 'environment'>;

/**
 * Runs a command where it is to be run: without BRANDS_DIR, and where it serves all brands, once; otherwise for the brand
 * that --brand names, or for one after the other. What fails for one brand does not stop the next, and the exit status is
 * the worst.
 *
 * @param asked the brand of --brand.
 * @throws UsageError if the brand is not known, or the command needs one.
 */
export async function inBrands(
  around: Around,
  reach: Reach,
  asked: string | undefined,
  work: Work,
): Promise<Report | undefined> {
  if (reach === 'all') return work(openContext(around));
  const brands = readBrands(around.environment);
  if (!brands) {
    if (asked === undefined) return work(openContext(around));
    throw new UsageError(`--brand is ${JSON.stringify(asked)}, and BRANDS_DIR is not set: there are no brands`);
  }
  const names = brands.map(({ name }) => name).join(', ');
  const [only, ...others] = asked === undefined ? brands : brands.filter(({ name }) => name === asked);
  if (!only) throw new UsageError(`There is no brand ${JSON.stringify(asked)}, expected one of: ${names}`);
  if (asked !== undefined || (reach === 'one' && others.length === 0)) return work(openContext(around, only));
  if (reach === 'one') {
    throw new UsageError(`This command is about one brand: add --brand and one of ${names}`);
  }
  const reports: [name: string, report: Report][] = [];
  for (const brand of brands) {
    const context = openContext(around, brand, { isLast: brand === brands.at(-1) });
    const report = await ofBrand(around, brand, () => work(context));
    around.signal.throwIfAborted();
    if (report) reports.push([brand.name ?? '', report]);
  }
  return {
    text: reports.map(([name, { text }]) => `brand ${name}\n${text}`).join('\n\n'),
    json: { brands: Object.fromEntries(reports.map(([name, { json }]) => [name, json])) },
    incomplete: reports.some(([, { incomplete }]) => incomplete),
    isWrongUsage: reports.some(([, { isWrongUsage }]) => isWrongUsage),
  };
}

/** The report of one brand, of its failure too, which is said at once on standard error. */
async function ofBrand(around: Around, brand: Brand, work: () => ReturnType<Work>): Promise<Report | undefined> {
  try {
    return await work();
  } catch (error) {
    around.writeError(`brand ${brand.name}: ${describeFailure(error)}`);
    if (isLockedOut(error)) around.writeError(await holdersText(brand).catch(() => ''));
    const isWrongUsage = exitStatus(error) === 2;
    return {
      text: 'failed: standard error says why',
      json: { error: failureJson(error) },
      incomplete: true,
      isWrongUsage,
    };
  }
}

/** Which sessions may hold the lock that a statement did not get. */
async function holdersText({ name, environment }: Brand): Promise<string> {
  const { warehouseDatabaseUrl: url } = readDeployment(environment);
  await using warehouse = await openWarehouse({ url, brand: name, connections: 1 });
  const sessions = await sessionsOnOurTables(warehouse.db);
  return sessions.map(({ what }) => `brand ${name}: a transaction is open in its schemas: ${what}\n`).join('');
}

/**
 * What a command works with.
 *
 * @param brand the brand that the command is for; default: the only one, without BRANDS_DIR.
 * @param among the command does one brand after the other. A brand whose tables are locked must not hold up the others.
 */
function openContext(around: Around, brand?: Brand, among?: { isLast: boolean }): Context {
  const { signal, draw, isTerminal, writeLog } = around;
  const own: Brand = brand ?? { name: undefined, environment: around.environment };
  const { name, environment } = own;
  const lockSeconds = among && shortLockSeconds;
  const prefix = name === undefined ? '' : `${name}: `;
  return {
    config: () => ({ ...configOf(own), lockSeconds }),
    warehouseConfig: () => ({ ...configOf(own, readWarehouseConfig), lockSeconds }),
    async log(level = 'info') {
      // Some commands log nothing, status for one: they start without the 22 modules of pino.
      const { openLog } = await import('../base/log.ts');
      const log = openLog(readLogLevel(environment, level), writeLog);
      return name === undefined ? log : log.child({ brand: name });
    },
    terminal: { say: (line) => around.writeError(`${prefix}${line}\n`), draw, isTerminal },
    signal,
    environment,
    brand: name,
    isLast: among?.isLast ?? true,
    brands: () => readBrands(around.environment) ?? [{ name: undefined, environment: around.environment }],
  };
}
