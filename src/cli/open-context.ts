import { type Brand, configOf, readBrands } from '../app/brands.ts';
import { readLogLevel, readWarehouseConfig, shortLockSeconds } from '../app/config.ts';
import type { Context } from './command.ts';
import type { Surroundings } from './program.ts';

type Around = Surroundings & Pick<Context['terminal'], 'draw'>;

/**
 * What a command works with. Kept apart from program.ts, so that `--help` loads neither configuration nor log.
 *
 * @param brand the brand that the command is for; default: the only one, without BRANDS_DIR.
 * @param among the command does one brand after the other. A brand whose tables are locked must not hold up the others.
 */
export function openContext(around: Around, brand?: Brand, among?: { isLast: boolean }): Context {
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
