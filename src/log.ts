import pino from 'pino';
import pretty from 'pino-pretty';

export type Logger = pino.Logger;

/** Fields that could carry a customer, a token or a password: never printed, wherever they stand (promise 9). */
const discreet = [
  ...['access_token', 'client_secret', 'password', 'authorization'],
  ...['user_email', 'user_phone', 'user_name', 'email', 'phone', 'username', 'body', 'payload'],
];

/**
 * Opens the log: JSON lines on standard error, or readable lines where that is a terminal. Standard output stays free
 * for `--json`.
 */
export function openLog(level: string): Logger {
  const options: pino.LoggerOptions = {
    level,
    base: null,
    timestamp: pino.stdTimeFunctions.isoTime,
    redact: { paths: discreet.flatMap((field) => [field, `*.${field}`, `*.*.${field}`]), censor: '[redacted]' },
  };
  return process.stderr.isTTY
    ? pino(options, pretty({ destination: 2, sync: true, translateTime: 'SYS:HH:MM:ss', ignore: 'pid,hostname' }))
    : pino(options, pino.destination({ dest: 2, sync: true }));
}
