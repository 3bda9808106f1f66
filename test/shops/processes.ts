import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';

/** `program`: by default this Node. */
export type Place = { cwd: string; environment: NodeJS.ProcessEnv; program?: string };

const running = new Set<ChildProcess>();
// No shop outlives the command that started it.
process.once('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});

/** The output of a program that runs to its end. @throws Error with it where its status is not 0. */
export async function outputOf(args: readonly string[], place: Place): Promise<string> {
  const { status, output } = await runProgram(args, place);
  if (status !== 0) throw new Error(`${args.join(' ')} ended with status ${status}:\n${output.slice(-3000)}`);
  return output;
}

/** Runs a program to its end, in nothing but the environment given. */
export async function runProgram(
  args: readonly string[],
  place: Place,
): Promise<{ status: number | null; output: string }> {
  const { child, output } = start(args, place);
  const [status] = await once(child, 'close');
  return { status, output: output() };
}

/**
 * Starts a server, and resolves when its output has the text.
 *
 * @returns what ends the server.
 * @throws Error with its last output where it ends before, or has not said the text after `seconds`.
 */
export async function startServer(
  args: readonly string[],
  { ready, seconds, ...place }: Place & { ready: string; seconds: number },
): Promise<() => Promise<void>> {
  const { child, output } = start(args, place);
  const exited = once(child, 'exit');
  const failed = new AbortController();
  const timer = setTimeout(() => failed.abort(), seconds * 1000);
  await new Promise<void>((resolve, reject) => {
    const explain = (what: string) => reject(new Error(`${args.join(' ')} ${what}:\n${output().slice(-3000)}`));
    const look = () => output().includes(ready) && resolve();
    child.stdout?.on('data', look);
    child.stderr?.on('data', look);
    exited.then(([status]) => explain(`ended with status ${status} before it was ready`));
    failed.signal.addEventListener('abort', () => explain(`was not ready after ${seconds} s`));
  }).finally(() => clearTimeout(timer));
  return async () => {
    child.kill('SIGKILL');
    await exited;
  };
}

function start(args: readonly string[], { cwd, environment, program = process.execPath }: Place) {
  const child = spawn(program, args, {
    cwd,
    env: { PATH: process.env.PATH ?? '', HOME: process.env.HOME ?? '', ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  running.add(child);
  child.once('close', () => running.delete(child));
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
  }
  return { child, output: () => output };
}
