import { readFileSync } from 'node:fs';
import { Command as Commander, CommanderError } from 'commander';
import type { Environment } from '../app/config.ts';
import { exitStatus, ReviewSyncError } from '../base/errors.ts';
import { mask } from '../base/mask.ts';
import { packagePath } from '../base/package-path.ts';
import { visible, visibleJson } from '../base/visible.ts';
import type { Command, Reach, Work } from './command.ts';
import { loadCommand, summaries } from './commands/index.ts';
import { describeFailure, type FailureJson, failureJson } from './failure.ts';

/** The parts of its process that the command line uses, so that a test can run a command within its own process. */
export type Surroundings = {
  /** The arguments after `review-sync`. */
  args: readonly string[];
  /** Reads the environment over .env; may throw a UsageError. A command calls this, `--help` does not. */
  readEnvironment(): Environment;
  signal: AbortSignal;
  writeOut(text: string): void;
  writeError(text: string): void;
  isTerminal: boolean;
  /** Both outputs go to the same place, such as one terminal or one log. */
  isOneOutput?: boolean;
  /** Receives the lines of the log. Default: standard error of the process. */
  writeLog?: (line: string) => void;
};

/** Runs the command of the arguments. @returns the exit status: 0 done, 1 failed or incomplete, 2 wrong usage. */
export async function runProgram(given: Surroundings): Promise<number> {
  let status = 0;
  const { args } = given;
  const output = openOutput(given);
  const { writeOut, writeError, writeJson } = output;
  const { version } = JSON.parse(readFileSync(packagePath('package.json'), 'utf8')) as { version: string };
  const program = new Commander('review-sync')
    .description('Keeps a review service in step with a shop’s orders, and a warehouse in step with its reviews.')
    .version(version)
    .showHelpAfterError('(add --help for the usage)')
    .configureOutput({ writeOut, writeErr: writeError, outputError: sayUsage })
    .exitOverride();

  try {
    // A command is loaded only if it is called: `--help` and `--version` load none.
    const called = args.find((arg) => Object.hasOwn(summaries, arg));
    for (const [name, summary] of Object.entries(summaries)) {
      const commander = program.command(name).description(summary);
      if (name !== called) continue;
      const command = await loadCommand(name);
      define(commander, command, async (work, reach, asked) => {
        const { runCommand } = await import('./run-command.ts');
        const around = { ...given, ...output, environment: given.readEnvironment() };
        const report = await runCommand(around, command, reach, asked, work);
        if (!report) return;
        const isJson = args.includes('--json');
        if (isJson) writeJson(report.json);
        else if (report.text !== '') writeOut(`${report.text}\n`);
        if (report.isWrongUsage) status = 2;
        else if (report.incomplete) status = 1;
        // Cron and scripts keep or drop standard output, and log standard error (promise 9). Mask by lines: a long text
        // would be cut.
        const masked = () => report.text.replaceAll(/.+/g, (line) => mask(line));
        if (status !== 0 && (isJson || !given.isOneOutput)) writeError(`${masked()}\n`);
      });
    }
    await program.parseAsync(args, { from: 'user' });
  } catch (error) {
    if (error instanceof CommanderError) {
      if (error.exitCode === 0) return 0;
      writeFailure({ code: 'usage', message: error.message.replace(/^error: /, ''), hint: null });
      return 2;
    }
    // While a command is being stopped, closed systems fail with their own errors.
    const isStopped = given.signal.aborted && !(error instanceof ReviewSyncError);
    const failure: unknown = isStopped ? given.signal.reason : error;
    writeError(describeFailure(failure));
    writeFailure(failureJson(failure));
    return exitStatus(failure);
  }
  return status;

  /** With `--json`, standard output has one document, also if the command failed. */
  function writeFailure(error: FailureJson): void {
    if (args.includes('--json')) writeJson({ error });
  }
}

/** The only place that writes text: names and texts of customers may have control characters. */
function openOutput({ writeOut, writeError }: Surroundings) {
  const eraseLine = '\r\x1b[K';
  let isDrawn = false;
  return {
    writeOut: (text: string) => writeOut(visible(text)),
    writeJson: (value: unknown) => writeOut(`${visibleJson(JSON.stringify(value, null, 2))}\n`),
    /** Replaces a drawn line. A line feed alone keeps the line. */
    writeError(text: string): void {
      writeError((isDrawn && text !== '\n' ? eraseLine : '') + visible(text));
      isDrawn = false;
    },
    /** Makes the terminal cut the line at its edge: a wrapped line could not be erased. */
    draw(line: string): void {
      writeError(`${eraseLine}\x1b[?7l${visible(line)}\x1b[?7h`);
      isDrawn = true;
    },
  };
}

/** Defines a command, with the common options. @param run gets the brand of --brand. */
function define(
  commander: Commander,
  command: Command,
  run: (work: Work, reach: Reach, asked: string | undefined) => Promise<void>,
): void {
  const { hasServers = false, hasOwnBrand = false } = command;
  let asked: string | undefined;
  commander.hook('preAction', (_, action) => {
    asked = (action.opts() as { brand?: string }).brand;
  });
  command.define(commander, (work, reach = 'each') => run(work, hasServers || hasOwnBrand ? 'all' : reach, asked));
  for (const one of commander.commands.length > 0 ? commander.commands : [commander]) {
    if (!hasServers) one.option('--json', 'report as JSON');
    if (!hasServers && !hasOwnBrand) one.option('--brand <name>', 'only this brand of BRANDS_DIR');
  }
}

/** Writes a usage error in the form of all other errors. */
const sayUsage = (text: string, write: (text: string) => void) => write(text.replace(/^error: /, 'review-sync: '));
