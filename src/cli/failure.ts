import { describeError, hintOf, ReviewSyncError } from '../base/errors.ts';
import { explainError } from '../base/hints.ts';

/** A failure in the document of `--json`. */
export type FailureJson = { code: string | null; message: string; hint: string | null };

export function failureJson(failure: unknown): FailureJson {
  const code = failure instanceof ReviewSyncError ? failure.code : null;
  return { code, message: describeError(failure), hint: hintOf(failure, addressOf(failure)) ?? null };
}

/** The variable with the address of the system that failed. Errors of shop and queue have a code: a driver's own error is of the warehouse. */
function addressOf(error: unknown): string | undefined {
  const code = error instanceof ReviewSyncError ? error.code : 'warehouse';
  return { shop: 'SHOP_DATABASE_URL', warehouse: 'WAREHOUSE_DATABASE_URL', queue: 'QUEUE_URL' }[code];
}

/** Says what failed and what to do next; with a stack only if the program itself is at fault. */
export function describeFailure(error: unknown): string {
  const isOurs = error instanceof ReviewSyncError;
  const address = addressOf(error);
  const { hint } = explainError(error, address === undefined ? {} : { address }) ?? {};
  const lines = [`review-sync: ${describeError(error)}`];
  if (hint) lines.push(`→ ${hint}`);
  // With the variable in it, the hint for the driver's error says all that the other one does.
  if (isOurs && error.hint && !(hint && address)) lines.push(error.hint);
  if (!isOurs && error instanceof Error) {
    const isOfASystem = 'code' in error || hint !== undefined;
    // The first line of a stack is the raw message.
    const frames = (error.stack ?? '').split('\n').filter((line) => /^\s+at /.test(line));
    lines.push(...(isOfASystem ? ['review-sync doctor says what is broken.'] : frames));
  }
  return `${lines.join('\n')}\n`;
}
