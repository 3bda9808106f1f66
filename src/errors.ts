import { plainWordsOf } from './plain-words.ts';

/**
 * The errors of this program are for the person who reads them: `message` says where and what was found, `hint` what
 * to do next. `code` is stable, for scripts and logs.
 */
export class ReviewSyncError extends Error {
  override readonly name: string = 'ReviewSyncError';
  readonly code: string;
  readonly hint: string | undefined;

  constructor(code: string, message: string, options: { hint?: string | undefined; cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.hint = options.hint;
  }
}

/** Wrong usage or configuration: nothing was done. Exit status 2. */
export class UsageError extends ReviewSyncError {
  override readonly name = 'UsageError';

  constructor(message: string, options: { hint?: string; cause?: unknown } = {}) {
    super('usage', message, options);
  }
}

/** The work was done in part: what is missing is named. Exit status 1. */
export class IncompleteError extends ReviewSyncError {
  override readonly name = 'IncompleteError';

  constructor(message: string, options: { hint?: string; cause?: unknown } = {}) {
    super('incomplete', message, options);
  }
}

/** Exit status of the contract: 2 for wrong usage or configuration, 1 for everything else that failed. */
export function exitStatus(error: unknown): 1 | 2 {
  return error instanceof UsageError ? 2 : 1;
}

/** The message of an error and of its causes, a sentence each, without stack; jargon in parentheses behind plain words. */
export function describeError(error: unknown): string {
  const messages: string[] = [];
  const seen = new Set<unknown>();
  for (let at: unknown = error; at instanceof Error && !seen.has(at); at = at.cause) {
    seen.add(at);
    // A refused connection to a name with several addresses is an AggregateError without words of its own.
    const words = at.message || (at instanceof AggregateError ? at.errors.map(rawWords).join('; ') : at.name);
    if (!messages.some((message) => message.includes(words))) messages.push(inPlainWords(words, at));
  }
  return messages.length > 0 ? messages.join(': ') : String(error);
}

const rawWords = (error: unknown) => (error instanceof Error ? error.message : String(error));

function inPlainWords(words: string, error: Error): string {
  const { what } = plainWordsOf(error, { causes: false }) ?? {};
  return what === undefined || words.includes(what) ? words : `${what} (${words})`;
}

/** What to do about an error, where that is known. */
export function adviceOf(error: unknown): string | undefined {
  const { hint } = error instanceof ReviewSyncError ? error : {};
  return plainWordsOf(error)?.mend ?? hint;
}

/** What is wrong and what to do, for whoever will read it where no hint follows: a run, a dead letter, an alert. */
export function describeWithAdvice(error: unknown): string {
  const [told, advice] = [describeError(error), adviceOf(error)];
  return advice === undefined || told.includes(advice) ? told : `${told} → ${advice}`;
}
