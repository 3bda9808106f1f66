import { writeSync } from 'node:fs';
import { describeError } from '../base/errors.ts';
import { visible } from '../base/visible.ts';

/**
 * Shows a fault of the program as a sentence instead of a stack trace. An error that was thrown outside any work ends
 * the process with exit status 1, because the state of the process is unknown. A worker's jobs go back to the queue. A
 * rejected promise that nothing awaits does not end the process: no result depends on it, so a run cannot end `done`
 * because of it.
 */
export function explainFaults(): void {
  process.on('unhandledRejection', (reason) => say('a failure that nothing waits for', reason));
  process.on('uncaughtException', (error) => {
    say('an error that nothing expects', error);
    process.exit(1);
  });
  process.on('exit', (status) => {
    // Node's own status for a program that waits for something that can no longer come.
    if (status !== 13) return;
    say('ended before its work was done', undefined);
    process.exitCode = 1;
  });
}

function say(what: string, cause: unknown): void {
  const why = cause === undefined ? '' : `: ${visible(describeError(cause))}`;
  try {
    writeSync(process.stderr.fd, `review-sync: ${what}${why}. This is a fault of review-sync; please report it.\n`);
  } catch {
    // A full disk takes no line, but must not end a worker.
  }
}
