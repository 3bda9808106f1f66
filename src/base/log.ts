import { AsyncLocalStorage } from 'node:async_hooks';
import pino from 'pino';
import { describeError } from './errors.ts';
import { isPrivateField, mask } from './mask.ts';
import { oneLine } from './visible.ts';

export type Logger = pino.Logger;

/** Loaded only for a terminal, because it takes long to load. */
const pretty = process.stderr.isTTY ? (await import('pino-pretty')).default : undefined;

const currentRun = new AsyncLocalStorage<string>();

/** Adds the run's id as `run` to everything that `work` logs, so that no function has to pass it on. */
export const withRun = <T>(run: string, work: () => T): T => currentRun.run(run, work);

/** Opens the log: JSON lines on standard error, or readable lines on a terminal. @param write receives them instead. */
export function openLog(level: string, write?: (line: string) => void): Logger {
  const options: pino.LoggerOptions = {
    level,
    base: null,
    mixin: () => ({ run: currentRun.getStore() }),
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { log: (fields) => redact(fields, 0) as Record<string, unknown> },
    hooks: {
      logMethod(args, method) {
        // Not masked: messages are ours, and name runs by ids that look like tokens. A name in them must not forge a
        // line.
        method.apply(this, args.map((one) => (typeof one === 'string' ? oneLine(one) : one)) as typeof args);
      },
    },
  };
  if (write) return pino(options, { write });
  return pretty
    ? pino(options, pretty({ destination: 2, sync: true, translateTime: 'SYS:HH:MM:ss', ignore: 'pid,hostname' }))
    : pino(options, openStandardError());
}

/** If lines cannot be written, as on a full disk, the worker goes on, and up to a megabyte of lines waits. */
function openStandardError() {
  const destination = pino.destination({ dest: 2, sync: true, maxLength: 1024 * 1024 });
  destination.on('error', () => {});
  return destination;
}

/** Levels of nested fields that are logged. */
const deepest = 5;

/** Fields with ids and names that review-sync makes: ids of runs look like tokens and must not be masked. */
const ownNames = new Set(['run', 'running', 'runId', 'id', 'job', 'queue', 'worker']);

/** The value without customers' data, tokens and passwords (promise 9). */
function redact(value: unknown, depth: number): unknown {
  if (typeof value === 'string') return oneLine(mask(value));
  if (typeof value !== 'object' || value === null || value instanceof Date) return value;
  if (value instanceof Error) return oneLine(describeError(value));
  if (depth === deepest) return '[nested]';
  if (Array.isArray(value)) return value.map((item) => redact(item, depth + 1));
  const shown = ([name, field]: [string, unknown]) => {
    if (isPrivateField(name)) return [name, '[redacted]'];
    return [name, ownNames.has(name) ? field : redact(field, depth + 1)];
  };
  return Object.fromEntries(Object.entries(value).map(shown));
}
