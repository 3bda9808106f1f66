import { plainWordsOf } from '../plain-words.ts';
import { ShapeError, textOf } from './answer.ts';
import type { Answer, Call } from './call.ts';
import type { Exchange } from './exchange.ts';
import { retryAfterMs } from './retry-after.ts';
import type { Failure } from './retry-policy.ts';
import { mask, wordsOf } from './words.ts';

/** What an exchange means. `words` is masked; `status` is what came, if anything came. */
export type Verdict<T> = { status?: number; words?: string | undefined; hint?: string | undefined } & (
  | { kind: 'fine'; value: T }
  | { kind: 'token-refused' }
  | { kind: 'absent' }
  | { kind: 'refused' }
  | { kind: 'failure'; failure: Failure }
);

/** Judges by status and by shape (FACTS, 'errors'): the spec tells neither failure statuses nor error bodies. */
export function judge<T>(
  exchange: Exchange & { requestedAt: Date },
  context: { call: Call; read: (answer: Answer) => T; secrets: readonly (string | undefined)[]; nowMs: number },
): Verdict<T> {
  if (exchange.kind === 'none') {
    const { unsent, hopeless } = exchange;
    const words = mask(exchange.cause instanceof Error ? reason(exchange.cause) : 'no answer', context.secrets);
    const hint = plainWordsOf(exchange.cause)?.mend;
    return { kind: 'failure', failure: unsent ? { kind: 'unsent', hopeless } : { kind: 'lost' }, words, hint };
  }
  const { status, headers, bytes, broken, requestedAt } = exchange;
  const fine = (status >= 200 && status <= 299) || (status === 404 && context.call.absentIsFine === true);
  if (fine && broken && status !== 204 && status !== 404) {
    return { kind: 'failure', failure: { kind: 'lost' }, status, words: 'the body broke off' };
  }
  if (fine) return readWith(context.read, { status, bytes, headers, requestedAt }, context.secrets);

  const said = { status, words: words(exchange, context.secrets) };
  if (status === 401 || (status === 403 && /token|expired/i.test(said.words ?? '')))
    return { kind: 'token-refused', ...said };
  if (status === 404) return { kind: 'absent', ...said };
  const serviceNow = Date.parse(headers.date ?? '');
  const waitMs = retryAfterMs(headers['retry-after'], Number.isNaN(serviceNow) ? context.nowMs : serviceNow);
  if (status === 429) return { kind: 'failure', failure: { kind: 'limited', retryAfterMs: waitMs }, ...said };
  if (status >= 500 || status === 408)
    return { kind: 'failure', failure: { kind: 'failed', retryAfterMs: waitMs }, ...said };
  return { kind: 'refused', ...said };
}

function readWith<T>(
  read: (answer: Answer) => T,
  answer: Answer,
  secrets: readonly (string | undefined)[],
): Verdict<T> {
  try {
    return { kind: 'fine', status: answer.status, value: read(answer) };
  } catch (error) {
    if (!(error instanceof ShapeError)) throw error;
    // Only a page is quoted: a JSON answer may hold customers' data, whole.
    const text = textOf(answer.bytes);
    const page = text.trimStart().startsWith('<') ? wordsOf(text, secrets) : undefined;
    const said = [error.message, page].filter((part) => part !== undefined).join('; ');
    return { kind: 'failure', failure: { kind: 'malformed' }, status: answer.status, words: said.slice(0, 300) };
  }
}

/** A redirect is never followed, since it would carry the token elsewhere; where it points to is told without query. */
function words(exchange: Extract<Exchange, { kind: 'answer' }>, secrets: readonly (string | undefined)[]) {
  const target = exchange.status < 400 ? exchange.headers.location?.split(/[?#]/)[0] : undefined;
  return target === undefined
    ? wordsOf(textOf(exchange.bytes), secrets)
    : mask(`redirected to ${target}`, secrets).slice(0, 300);
}

/** Of a connection's failure only plain words, code and message: its other fields could hold the request. */
function reason(error: Error): string {
  const first = error instanceof AggregateError && error.errors[0] instanceof Error ? error.errors[0] : error;
  const code = 'code' in first && typeof first.code === 'string' ? first.code : undefined;
  const told = [code, first.message].filter((part) => part).join(': ');
  const plain = plainWordsOf(error);
  return (plain?.what === undefined ? told : `${plain.what} (${told})`).slice(0, 300);
}
