import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { type Brand, configOf, readBrands } from '../app/brands.ts';
import { readLogLevel, readWarehouseConfig, shortLockSeconds } from '../app/config.ts';
import { exitStatus, UsageError } from '../base/errors.ts';
import { watchLockWaits } from '../warehouse/lock-waits.ts';
import type { Context, Reach, Report, Traits, Work } from './command.ts';
import { describeFailure, failureJson } from './failure.ts';
import type { Surroundings } from './program.ts';

/** The surroundings of a command. program.ts loads this file for a command only: `--help` needs no configuration. */
type Around = Surroundings & Pick<Context['terminal'], 'draw'> & Pick<Context, 'environment'>;

/** How long a stopped command may take to report its progress, in milliseconds. A warehouse may be locked for hours. */
export const graceMs = ({ hasServers }: Traits): number => (hasServers ? 20_000 : 2000);

/**
 * Runs a command. Reports the locks in the warehouse that it waits for. Gives the command up if it does not end soon
 * after a signal.
 *
 * @param asked the brand of --brand.
 * @throws the reason of the signal if the work has not ended within `graceMs` after it; also the errors of the work.
 */
export async function runCommand(
  around: Around,
  command: Traits,
  reach: Reach,
  asked: string | undefined,
  work: Work,
): Promise<Report | undefined> {
  const { signal, environment, writeError } = around;
  const done = new AbortController();
  const stopped = once(signal, 'abort', { signal: done.signal })
    .then(() => delay(graceMs(command), undefined, { signal: done.signal }))
    .then(() => Promise.reject(signal.reason));
  // `serve` and `worker` log such waits. The other commands with servers use no warehouse of a user.
  const url = command.hasServers ? undefined : environment.WAREHOUSE_DATABASE_URL?.trim();
  const watching = url && watchLockWaits(url, (text) => writeError(`waiting: ${text}\n`));
  const working = inBrands(around, reach, asked, work);
  try {
    return await (signal.aborted ? working : Promise.race([working, stopped]));
  } finally {
    stopped.catch(() => {});
    working.catch(() => {});
    done.abort();
    const closing = watching ? watching.close() : undefined;
    // After a signal, do not wait for a server that hangs: the connections end with the process.
    if (!signal.aborted) await closing;
  }
}

/**
 * Does the work once, or for each brand. If one brand fails, the next goes on. The exit status is the worst one.
 *
 * @throws UsageError if the brand is unknown, or the command needs a brand.
 */
async function inBrands(
  around: Around,
  reach: Reach,
  asked: string | undefined,
  work: Work,
): Promise<Report | undefined> {
  const brands = reach === 'all' ? undefined : readBrands(around.environment);
  if (!brands) {
    if (reach === 'all' || asked === undefined) return work(openContext(around));
    throw new UsageError(`--brand is ${JSON.stringify(asked)}, and BRANDS_DIR is not set: there are no brands`);
  }
  const names = brands.map(({ name }) => name).join(', ');
  const wanted = asked === undefined ? brands : brands.filter(({ name }) => name === asked);
  const [only] = wanted;
  if (!only) throw new UsageError(`There is no brand ${JSON.stringify(asked)}, expected one of: ${names}`);
  if (asked !== undefined || (reach === 'one' && wanted.length === 1)) return work(openContext(around, only));
  if (reach === 'one') throw new UsageError(`This command is about one brand: add --brand and one of ${names}`);
  const reports: [name: string, report: Report][] = [];
  for (const brand of brands) {
    const context = openContext(around, brand, { isLast: brand === brands.at(-1) });
    const report = await work(context).catch((error: unknown): Report => {
      around.writeError(`brand ${brand.name}: ${describeFailure(error)}`);
      const text = 'failed: standard error says why';
      return { text, json: { error: failureJson(error) }, incomplete: true, isWrongUsage: exitStatus(error) === 2 };
    });
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

/** @param among the command handles one brand after the other. Locked tables of a brand must not hold up others. */
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
      // Some commands, such as `status`, log nothing, and start without the 22 modules of pino.
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
