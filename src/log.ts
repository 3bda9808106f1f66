import { AsyncLocalStorage } from 'node:async_hooks';
import pino from 'pino';

export type Logger = pino.Logger;

/** Only where somebody reads it: it takes its time to load. */
const pretty = process.stderr.isTTY ? (await import('pino-pretty')).default : undefined;

/** Fields that could carry a customer, a token or a password: never printed, wherever they stand (promise 9). */
const discreet = [
  ...['access_token', 'client_secret', 'password', 'authorization'],
  ...['user_email', 'user_phone', 'user_name', 'email', 'phone', 'username', 'body', 'payload'],
];

const runs = new AsyncLocalStorage<string>();

/** Whatever is logged by the work, however deep, carries the run's id as `run`: no function has to hand it on. */
export function withRun<T>(run: string, work: () => T): T {
  return runs.run(run, work);
}

/**
 * Opens the log: JSON lines on standard error, or readable lines where that is a terminal. Standard output stays free
 * for `--json`.
 */
export function openLog(level: string): Logger {
  const options: pino.LoggerOptions = {
    level,
    base: null,
    mixin: () => {
      const run = runs.getStore();
      return run === undefined ? {} : { run };
    },
    timestamp: pino.stdTimeFunctions.isoTime,
    redact: { paths: discreet.flatMap((field) => [field, `*.${field}`, `*.*.${field}`]), censor: '[redacted]' },
  };
  return pretty
    ? pino(options, pretty({ destination: 2, sync: true, translateTime: 'SYS:HH:MM:ss', ignore: 'pid,hostname' }))
    : pino(options, pino.destination({ dest: 2, sync: true }));
}
