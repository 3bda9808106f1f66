import { logLevels, readConfig } from '../app/config.ts';
import { UsageError } from '../base/errors.ts';
import type { Context } from './command.ts';
import type { Surroundings } from './program.ts';

type Around = Surroundings & Pick<Context['terminal'], 'draw'>;

/** What a command works with. Kept apart from program.ts, so that `--help` loads neither configuration nor log. */
export function openContext({ environment, signal, writeError, draw, isTerminal, writeLog }: Around): Context {
  return {
    config: () => readConfig(environment),
    async log(level = 'info') {
      // Some commands log nothing, status for one: they start without the 22 modules of pino.
      const { openLog } = await import('../base/log.ts');
      return openLog(logLevel(environment.LOG_LEVEL || level), writeLog);
    },
    terminal: { say: (line) => writeError(`${line}\n`), draw, isTerminal },
    signal,
    environment,
  };
}

/** Checked here because some commands read no configuration, and LOG_LEVEL holds for them too. */
function logLevel(level: string): string {
  if (logLevels.includes(level)) return level;
  throw new UsageError(`LOG_LEVEL is ${JSON.stringify(level)}, expected one of ${logLevels.join(', ')}`);
}
