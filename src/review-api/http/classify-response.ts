import { explainError } from '../../base/hints.ts';
import { mask } from '../../base/mask.ts';
import type { Call, HttpResponse } from './call.ts';
import { errorText } from './error-text.ts';
import { NotConfirmedError, ShapeError, TooLargeError, textOf } from './response-body.ts';
import { retryAfterMs } from './retry-after.ts';
import type { Failure } from './retry-policy.ts';
import type { RequestResult } from './send-request.ts';

/** What the result of a request means. `detail` is masked; `status` is set where there was a response. */
export type Outcome<T> = { status?: number; detail?: string | undefined; hint?: string | undefined } & (
  | { kind: 'success'; value: T }
  | { kind: 'token-refused' }
  | { kind: 'not-found' }
  | { kind: 'refused' }
  | { kind: 'failure'; failure: Failure }
);

/** What must not show in an error. Only asked for where there is one: it costs as much as encoding the request. */
type Secrets = () => readonly (string | undefined)[];

/**
 * Classifies by status and shape (docs/service-facts.md): docs/interface.md describes neither the statuses of errors
 * nor their bodies.
 */
export function classifyResponse<T>(
  result: RequestResult & { requestedAt: Date },
  context: { call: Call; read: (response: HttpResponse) => T; secrets: Secrets; nowMs: number },
): Outcome<T> {
  const { call, read, secrets } = context;
  if (result.kind === 'no-response') {
    const { unsent, permanent, cause } = result;
    const detail = mask(cause instanceof Error ? connectionErrorText(cause) : 'no response', secrets());
    const failure: Failure = unsent ? { kind: 'unsent', permanent } : { kind: 'lost' };
    return { kind: 'failure', failure, detail, hint: explainError(cause)?.hint };
  }
  const { status, headers, bytes, incomplete, requestedAt } = result;
  const isSuccess = (status >= 200 && status <= 299) || (status === 404 && call.notFoundIsSuccess === true);
  if (isSuccess && incomplete && status !== 204 && status !== 404) {
    return incomplete === 'connection-lost'
      ? {
          kind: 'failure',
          failure: { kind: 'lost' },
          status,
          detail: 'the connection broke before the end of the body',
        }
      : {
          kind: 'failure',
          failure: { kind: 'malformed', permanent: false },
          status,
          detail: 'the body is larger than allowed, 64 MiB',
        };
  }
  if (isSuccess) return readWith(read, { status, bytes, headers, requestedAt }, secrets);

  // A redirect is never followed, since that would send the token elsewhere. Its target is shown without the query.
  const target = status < 400 ? headers.location?.split(/[?#]/)[0] : undefined;
  const detail =
    target === undefined
      ? errorText(textOf(bytes), secrets())
      : mask(`redirected to ${target}`, secrets()).slice(0, 300);
  if (status === 401 || (status === 403 && /token|expired/i.test(detail ?? ''))) {
    return { kind: 'token-refused', status, detail };
  }
  if (status === 404) return { kind: 'not-found', status, detail };
  const serviceNow = Date.parse(headers.date ?? '');
  const waitMs = retryAfterMs(headers['retry-after'], Number.isNaN(serviceNow) ? context.nowMs : serviceNow);
  if (status === 429) return { kind: 'failure', failure: { kind: 'limited', retryAfterMs: waitMs }, status, detail };
  if (status >= 500 || status === 408) {
    return { kind: 'failure', failure: { kind: 'failed', retryAfterMs: waitMs }, status, detail };
  }
  return { kind: 'refused', status, detail };
}

const tooLargeHint =
  'ask the service’s makers for a smaller number: most programs that read JSON round larger ones, ' +
  'so that an id names another record';

function readWith<T>(read: (response: HttpResponse) => T, response: HttpResponse, secrets: Secrets): Outcome<T> {
  try {
    return { kind: 'success', status: response.status, value: read(response) };
  } catch (error) {
    if (error instanceof NotConfirmedError) {
      return { kind: 'failure', failure: { kind: 'not-confirmed' }, status: response.status, detail: error.message };
    }
    if (!(error instanceof ShapeError)) throw error;
    // Only an HTML page is quoted: a JSON body may hold customers' data.
    const text = textOf(response.bytes);
    const page = text.trimStart().startsWith('<') ? errorText(text, secrets()) : undefined;
    const detail = [error.message, page].filter((part) => part !== undefined).join('; ');
    const permanent = error instanceof TooLargeError;
    return {
      kind: 'failure',
      failure: { kind: 'malformed', permanent },
      status: response.status,
      detail: detail.slice(0, 300),
      hint: permanent ? tooLargeHint : undefined,
    };
  }
}

/** Only code and message of a connection error: its other fields could hold the request. */
function connectionErrorText(error: Error): string {
  const first = error instanceof AggregateError && error.errors[0] instanceof Error ? error.errors[0] : error;
  const code = 'code' in first && typeof first.code === 'string' ? first.code : undefined;
  const raw = [code, first.message].filter((part) => part).join(': ');
  const plain = explainError(error);
  return (plain?.what === undefined ? raw : `${plain.what} (${raw})`).slice(0, 300);
}
