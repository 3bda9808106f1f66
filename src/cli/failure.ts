import { describeError, hintOf, ReviewSyncError } from '../base/errors.ts';
import { addresses } from '../base/hints.ts';

/** A failure in the document of `--json`. */
export type FailureJson = { code: string | null; message: string; hint: string | null };

export function failureJson(failure: unknown): FailureJson {
  const code = failure instanceof ReviewSyncError ? failure.code : null;
  // The variable with the address of the failed system. Errors of shop and queue have a code, so a driver's own error
  // comes from the warehouse.
  const { code: of } = failure instanceof Error && failure.cause instanceof ReviewSyncError ? failure.cause : { code };
  const ofCode = { ...addresses, migration: addresses.warehouse, run: addresses.warehouse };
  const address = ofCode[(of ?? 'warehouse') as keyof typeof ofCode];
  return { code, message: describeError(failure), hint: hintOf(failure, address) ?? null };
}

/** Describes what failed and what to do next, with a stack only if the program itself is at fault. */
export function describeFailure(error: unknown): string {
  const { code, message, hint } = failureJson(error);
  const lines = [`review-sync: ${message}`];
  if (hint !== null) lines.push(`→ ${hint}`);
  if (code === null && error instanceof Error && !('path' in error)) {
    const isOfASystem = 'code' in error || hint !== null;
    // The first line of a stack is the raw message.
    const frames = (error.stack ?? '').split('\n').filter((line) => /^\s+at /.test(line));
    lines.push(...(isOfASystem ? ['review-sync doctor says what is broken.'] : frames));
  }
  return `${lines.join('\n')}\n`;
}
