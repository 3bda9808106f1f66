import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { availableParallelism, loadavg } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { onTestFailed, onTestFinished } from 'vitest';
import { ReviewSyncError } from '../../src/base/errors.ts';
import { runProgram } from '../../src/cli/program.ts';

/**
 * How long a test waits for what usually takes a moment, in milliseconds: 20 s, and longer in proportion if more
 * processes wait for the machine than it has cores. A limit finds what hangs; the speed of the machine must not decide.
 */
export function patienceMs(seconds = 20): number {
  return seconds * 1000 * Math.max(1, (loadavg()[0] ?? 0) / availableParallelism());
}

/**
 * Waits until the condition holds, and returns what it saw.
 *
 * @param seconds fails after so long on an idle machine, see `patienceMs`.
 */
export async function until<T>(look: () => Promise<T | undefined | false>, seconds = 20): Promise<T> {
  const startedMs = performance.now();
  for (let pauseMs = 20; ; pauseMs = Math.min(pauseMs * 1.5, 250)) {
    const seen = await look();
    if (seen !== undefined && seen !== false) return seen;
    const waitedMs = performance.now() - startedMs;
    if (waitedMs > patienceMs(seconds)) {
      throw new Error(`the condition did not hold within ${Math.round(waitedMs / 1000)} s: ${look.toString()}`);
    }
    await delay(pauseMs);
  }
}

const main = join(import.meta.dirname, '..', '..', 'src', 'cli', 'main.ts');

export type CliEnd = { status: number | null; signal: NodeJS.Signals | null; stdout: string; stderr: string };

export type RunningCli = {
  pid: number | undefined;
  /** Resolves when standard error has shown the text; rejects when the process ends before. */
  says(text: string): Promise<void>;
  /** All of standard error until now. */
  saidSoFar(): string;
  kill(signal: NodeJS.Signals): void;
  ended: Promise<CliEnd>;
};

/** Ends the process within a second after its parent, which may be killed in a way that lets it clean up nothing. */
const endWithParent = `data:text/javascript,${encodeURIComponent(
  `const parent = process.ppid;
   setInterval(() => process.ppid === parent || process.kill(process.pid, 'SIGKILL'), 1000).unref();`,
)}`;

/** Registers what happens at the end of the test. Outside of a test, as in a hook of a file, does nothing. */
export function inTest(register: () => void): void {
  try {
    register();
  } catch {}
}

/** A failing test shows what its process said last: a process that hangs has usually said why. */
const showWhenFailed = (command: string, stderr: () => string) => {
  const show = () => void process.stderr.write(`\nthe last words of ${command}:\n${stderr().slice(-3000)}\n`);
  inTest(() => onTestFailed(show));
};

async function untilSaid(text: string, saidSoFar: () => string, ended: Promise<CliEnd>): Promise<void> {
  let hasEnded = false;
  void ended.then(() => (hasEnded = true));
  await until(async () => hasEnded || saidSoFar().includes(text)).catch(() => {});
  if (!saidSoFar().includes(text)) throw new Error(`did not say ${JSON.stringify(text)}, but:\n${saidSoFar()}`);
}

/** Starts the real command line with plain node. It has only the environment given. */
export function startCli(args: readonly string[], environment: Record<string, string>, cwd?: string): RunningCli {
  const child = spawn(process.execPath, ['--import', endWithParent, main, ...args], {
    env: { PATH: process.env.PATH ?? '', ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
    ...(cwd !== undefined && { cwd }),
  });
  inTest(() => onTestFinished(() => void child.kill('SIGKILL')));
  let [stdout, stderr] = ['', ''];
  child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
  showWhenFailed(args.join(' '), () => stderr);
  const ended = once(child, 'close').then(([status, signal]) => ({ status, signal, stdout, stderr }));
  return {
    pid: child.pid,
    ended,
    saidSoFar: () => stderr,
    kill: (signal) => void child.kill(signal),
    says: (text) => untilSaid(text, () => stderr, ended),
  };
}

/** The address that `serve`, or the metrics of a worker, listens on. */
export async function addressOf(cli: RunningCli): Promise<string> {
  await cli.says('"listening"');
  return /"url":"([^"]+)"/.exec(cli.saidSoFar())?.[1] ?? '';
}

/** Runs the real command line with plain node to its end. */
export const runProcess = (...command: Parameters<typeof startCli>): Promise<CliEnd> => startCli(...command).ended;

/**
 * Runs a command to its end in the process of the test, without the half second of processor time that a start of Node
 * costs. If the process itself matters, as when it is killed, use `startCli` or `runProcess`.
 */
export const runCli = (args: readonly string[], environment: Record<string, string>): Promise<CliEnd> =>
  begin(args, environment).ended;

/** The same in this working directory, without its .env, which a real process would read. */
export async function runCliIn(folder: string, ...command: Parameters<typeof runCli>): Promise<CliEnd> {
  const before = process.cwd();
  process.chdir(folder);
  return runCli(...command).finally(() => process.chdir(before));
}

/**
 * Starts a command that goes on, `serve` or `worker`, in the process of the test, see `runCli`. SIGTERM and SIGINT end
 * it as they end a process: they abort its signal. It is ended when the test ends.
 */
export function startHere(...command: Parameters<typeof begin>): RunningCli {
  const running = begin(...command);
  showWhenFailed(command[0].join(' '), running.saidSoFar);
  const end = async () => {
    running.kill('SIGTERM');
    await running.ended;
  };
  inTest(() => onTestFinished(end));
  return running;
}

function begin(args: readonly string[], environment: Record<string, string>, isTerminal = false): RunningCli {
  const stop = new AbortController();
  let [stdout, stderr] = ['', ''];
  const writeOut = (text: string) => (stdout += text);
  const writeError = (text: string) => (stderr += text);
  const writers = { writeOut, writeError, writeLog: writeError };
  const program = { args, readEnvironment: () => environment, signal: stop.signal, isTerminal, ...writers };
  const ended = runProgram(program).then((status): CliEnd => ({ status, signal: null, stdout, stderr }));
  return {
    pid: undefined,
    ended,
    saidSoFar: () => stderr,
    kill: (signal) => stop.abort(new ReviewSyncError('stopped', `Stopped by ${signal}`, { hint: 'Nothing is lost.' })),
    says: (text) => untilSaid(text, () => stderr, ended),
  };
}
