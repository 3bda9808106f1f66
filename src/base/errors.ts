import { explainError } from './hints.ts';
import { mask } from './mask.ts';

type ErrorOptions = { hint?: string | undefined; cause?: unknown };

/** An error for a person: what is wrong and where, and the next step. `code` is stable, for scripts and logs. */
export class ReviewSyncError extends Error {
  override readonly name: string = 'ReviewSyncError';
  readonly code: string;
  readonly hint: string | undefined;

  constructor(code: string, message: string, options: ErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.hint = options.hint;
  }
}

/** Wrong usage or configuration: nothing was done. Exit status 2. */
export class UsageError extends ReviewSyncError {
  override readonly name = 'UsageError';

  constructor(message: string, options: ErrorOptions = {}) {
    super('usage', message, options);
  }
}

/** A part of the work is missing; the message names it. Permanent: a retry fails in the same way. Exit status 1. */
export class IncompleteError extends ReviewSyncError {
  override readonly name = 'IncompleteError';

  constructor(message: string, options: ErrorOptions = {}) {
    super('incomplete', message, options);
  }
}

/** Exit status of a failed command: 2 for wrong usage or configuration, 1 for everything else. */
export const exitStatus = (error: unknown): 1 | 2 => (error instanceof UsageError ? 2 : 1);

/**
 * The messages of an error and its causes, without stack. Messages of drivers follow in parentheses after plain words.
 * Values that a database quotes, e-mail addresses, phone numbers and tokens are removed (promise 9).
 */
export function describeError(error: unknown): string {
  const messages: string[] = [];
  const seen = new Set<unknown>();
  for (let at: unknown = error; at instanceof Error && !seen.has(at); at = at.cause) {
    seen.add(at);
    // A refused connection to a host name with several addresses is an AggregateError without a message.
    const text = messageOf(at) || (at instanceof AggregateError ? at.errors.map(messageOf).join('; ') : at.name);
    if (!messages.some((message) => mask(message).includes(mask(text)))) messages.push(inPlainWords(text, at));
  }
  return mask(messages.length > 0 ? messages.join(': ') : String(error));
}

/** The message. An error of a database about a value (SQLSTATE class 22) loses the quoted value. */
function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const code = 'code' in error && typeof error.code === 'string' ? error.code : '';
  // Such as: invalid input syntax for type integer: "kim".
  return /^22[0-9A-Z]{3}$/.test(code) ? error.message.replaceAll(/(["'`]).*\1/gs, '…') : error.message;
}

function inPlainWords(text: string, error: Error): string {
  const { what } = explainError(error, { causes: false }) ?? {};
  return what === undefined || text.includes(what) ? text : `${what} (${text})`;
}

/** The next step for an error, if known. @param address the variable with the address of the system that failed. */
export function hintOf(error: unknown, address?: string): string | undefined {
  const { hint } = error instanceof ReviewSyncError ? error : {};
  const own = hint?.replaceAll('{address}', address ?? 'its address');
  return explainError(error, address === undefined ? {} : { address })?.hint ?? own;
}

/**
 * Message and hint in one text, for places without a separate hint: a run, a dead letter, an alert.
 *
 * @param address as in `hintOf`.
 */
export function describeWithHint(error: unknown, address?: string): string {
  const message = describeError(error);
  const hint = hintOf(error, address);
  return hint === undefined || message.includes(hint) ? message : `${message} → ${hint}`;
}
