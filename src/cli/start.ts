import { existsSync, fstatSync } from 'node:fs';
import { ReviewSyncError } from '../base/errors.ts';
import { readEnvFile } from '../base/parse-env-file.ts';
import { explainFaults } from './last-resort.ts';
import { limitHeap } from './limit-heap.ts';
import { runProgram } from './program.ts';

explainFaults();
limitHeap(process.argv.slice(2));

const stopped = (how: string) =>
  new ReviewSyncError('stopped', `Stopped ${how}`, { hint: 'Nothing is lost. Run it again.' });

/** Time to finish after a signal; a second signal ends the process at once. */
const stop = new AbortController();
// A closed terminal stops a command, as Ctrl-C does. `nohup` goes on.
for (const signal of ['SIGINT', 'SIGTERM', ...(process.stderr.isTTY ? (['SIGHUP'] as const) : [])] as const) {
  process.on(signal, () => {
    if (stop.signal.aborted) process.exit(1);
    stop.abort(stopped(`by ${signal}`));
  });
}

/** A failed write, as to a full disk. If a reader such as `head` closes its end of the pipe, that is no failure. */
let unwritten: Error | undefined;
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') unwritten = error;
});
process.stderr.on('error', () => {});

// `npx` and `npm run` start a shell that starts us. A SIGTERM to npm ends npm and shell, and neither passes it on.
if (process.env.npm_command !== undefined) {
  const npm = process.ppid;
  const look = () => process.ppid === npm || stop.abort(stopped('with the npm process that started it'));
  setInterval(look, 1000).unref();
}

const status = await runProgram({
  args: process.argv.slice(2),
  readEnvironment: () => ({ ...(existsSync('.env') ? readEnvFile('.env') : {}), ...process.env }),
  signal: stop.signal,
  writeOut: (text) => void process.stdout.write(text),
  writeError: (text) => void process.stderr.write(text),
  isTerminal: process.stderr.isTTY === true,
  isOneOutput: isOneFile(1, 2),
});
// A pipe takes 64 KiB at a time, and exit drops the rest.
for (const stream of [process.stdout, process.stderr])
  await new Promise<void>((resolve) => void stream.write('', () => resolve()));
if (unwritten) process.stderr.write(`The output could not be written: ${unwritten.message}\n`);
// Handles left open by a failure must not keep the process alive.
process.exit(unwritten ? 1 : status);

/** Whether two descriptors lead to one file, pipe or terminal. One may be closed. */
function isOneFile(one: number, other: number): boolean {
  try {
    const [a, b] = [fstatSync(one), fstatSync(other)];
    return a.dev === b.dev && a.ino === b.ino;
  } catch {
    return false;
  }
}
