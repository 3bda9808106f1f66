import { existsSync, readFileSync } from 'node:fs';
import { parseEnv } from 'node:util';
import { Command as Commander, CommanderError } from 'commander';
import { logLevels, readConfig } from '../config.ts';
import { describeError, exitStatus, ReviewSyncError, UsageError } from '../errors.ts';
import { openLog } from '../log.ts';
import { packagePath } from '../package-root.ts';
import { plainWordsOf } from '../plain-words.ts';
import type { Context, Report } from './command.ts';
import { loadCommands } from './commands.ts';

/** Time to finish after a signal; a second signal ends the process at once. */
const stop = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.on(signal, () => {
    if (stop.signal.aborted) process.exit(1);
    stop.abort(new Error(`stopped by ${signal}`));
  });
}

const environment = { ...(existsSync('.env') ? parseEnv(readFileSync('.env', 'utf8')) : {}), ...process.env };
const { version } = JSON.parse(readFileSync(packagePath('package.json'), 'utf8')) as { version: string };

const program = new Commander('review-sync')
  .description('Keeps a review service in step with a shop’s orders, and a warehouse in step with its reviews.')
  .version(version)
  .showHelpAfterError('(add --help for what can be said here)')
  .exitOverride();

for (const command of await loadCommands(process.argv.slice(2))) {
  const commander = program.command(command.name).description(command.summary).exitOverride();
  const json = () => commander.optsWithGlobals().json === true || process.argv.includes('--json');
  command.define(commander, async (work) => report(await work(context), json()));
}

const context: Context = {
  config: () => readConfig(environment),
  log: (level = 'info') => openLog(logLevel(environment.LOG_LEVEL || level)),
  terminal: {
    say: (line) => void process.stderr.write(`${line}\n`),
    isTerminal: process.stderr.isTTY === true,
  },
  signal: stop.signal,
  environment,
};

try {
  await program.parseAsync();
} catch (error) {
  process.exitCode = error instanceof CommanderError ? (error.exitCode === 0 ? 0 : 2) : complain(error);
}
// What is left open after a failure must not keep the process from ending.
process.exit();

/** Commands that read no configuration still heed LOG_LEVEL. */
function logLevel(level: string): string {
  if (logLevels.includes(level)) return level;
  throw new UsageError(`LOG_LEVEL is ${JSON.stringify(level)}, expected one of ${logLevels.join(', ')}`);
}

function report(done: Report | undefined, json: boolean): void {
  if (!done) return;
  if (json) process.stdout.write(`${JSON.stringify(done.json, null, 2)}\n`);
  else if (done.text !== '') process.stdout.write(`${done.text}\n`);
  if (done.incomplete) process.exitCode = 1;
}

/** Standard error says what and what to do next; a stack only where the program itself is at fault. */
function complain(error: unknown): number {
  const isOurs = error instanceof ReviewSyncError;
  const { mend } = plainWordsOf(error) ?? {};
  process.stderr.write(`review-sync: ${describeError(error)}\n`);
  if (mend) process.stderr.write(`→ ${mend}\n`);
  if (isOurs && error.hint) process.stderr.write(`${error.hint}\n`);
  if (!isOurs && error instanceof Error) {
    const isOfASystem = 'code' in error || mend !== undefined;
    process.stderr.write(isOfASystem ? 'npx review-sync doctor tells what is broken.\n' : `${error.stack ?? ''}\n`);
  }
  return exitStatus(error);
}
