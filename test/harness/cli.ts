import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';

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

/** Starts the real command line with plain node, in nothing but the environment given. */
export function startCli(args: readonly string[], environment: Record<string, string>, cwd?: string): RunningCli {
  const child = spawn(process.execPath, [main, ...args], {
    env: { PATH: process.env.PATH ?? '', ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
    ...(cwd !== undefined && { cwd }),
  });
  let [stdout, stderr] = ['', ''];
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
    child.emit('said');
  });
  const ended = once(child, 'close').then(([status, signal]) => ({ status, signal, stdout, stderr }));
  return {
    pid: child.pid,
    ended,
    saidSoFar: () => stderr,
    kill: (signal) => void child.kill(signal),
    async says(text) {
      while (!stderr.includes(text)) {
        const end = await Promise.race([once(child, 'said').then(() => undefined), ended]);
        if (end && !stderr.includes(text)) throw new Error(`ended without saying ${JSON.stringify(text)}:\n${stderr}`);
      }
    },
  };
}

export function runCli(args: readonly string[], environment: Record<string, string>, cwd?: string): Promise<CliEnd> {
  return startCli(args, environment, cwd).ended;
}
