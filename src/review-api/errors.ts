import { ReviewSyncError } from '../errors.ts';

/** What every error of this client tells. No token, no query, no customer's data (promise 9). */
export type Circumstances = {
  method: string;
  path: string;
  status?: number | undefined;
  /** The service's words, masked, at most 300 characters. */
  words?: string | undefined;
  cause?: unknown;
  hint?: string | undefined;
};

/**
 * Something went wrong between this program and the review service. `retryable`: the same call, made later, may go
 * through and does no harm. The client has repeated it by then for as long as its limits allow.
 */
export class ReviewApiError extends ReviewSyncError {
  override readonly name: string = 'ReviewApiError';
  readonly method: string;
  readonly path: string;
  readonly status: number | undefined;
  readonly words: string | undefined;
  readonly retryable: boolean;

  constructor(kind: { code: string; what: string; retryable: boolean }, at: Circumstances) {
    const status = at.status === undefined ? '' : ` (status ${at.status})`;
    const words = at.words ? `: ${at.words}` : '';
    super(`review-api.${kind.code}`, `${at.method} ${at.path}: ${kind.what}${status}${words}`, at);
    this.method = at.method;
    this.path = at.path;
    this.status = at.status;
    this.words = at.words;
    this.retryable = kind.retryable;
  }
}

/** No token was given out, or two fresh ones in a row were refused. */
export class AuthenticationError extends ReviewApiError {
  override readonly name = 'AuthenticationError';

  constructor(at: Circumstances) {
    const hint = at.hint ?? 'check the client id and the client secret, and that they belong to this service';
    super({ code: 'authentication', what: 'the review service did not accept us', retryable: false }, { ...at, hint });
  }
}

/** The service understood and said no (400, 403, 409, 422 and other 4xx): the same request will fail again. */
export class RefusedError extends ReviewApiError {
  override readonly name = 'RefusedError';

  constructor(at: Circumstances) {
    super({ code: 'refused', what: 'refused by the review service', retryable: false }, at);
  }
}

/** There is no such record at the service (404). */
export class NotFoundError extends ReviewApiError {
  override readonly name = 'NotFoundError';

  constructor(at: Circumstances) {
    super({ code: 'not-found', what: 'the review service has no such record', retryable: false }, at);
  }
}

/** Still told to slow down (429) when all the waiting that is allowed was spent. */
export class LimitedError extends ReviewApiError {
  override readonly name = 'LimitedError';

  constructor(at: Circumstances) {
    const hint = at.hint ?? 'lower the requests per second or the requests in flight';
    super({ code: 'limited', what: 'the review service wants fewer requests', retryable: true }, { ...at, hint });
  }
}

/**
 * No usable answer after all repeats: 5xx, refused or broken connections, time limits. A certificate that does not hold
 * is the one case that is not `retryable`.
 */
export class UnavailableError extends ReviewApiError {
  override readonly name = 'UnavailableError';

  constructor(at: Circumstances, retryable = true) {
    super({ code: 'unavailable', what: 'the review service could not be reached', retryable }, at);
  }
}

/** Success by status, but not the expected array or object: never the end of the data. */
export class MalformedAnswerError extends ReviewApiError {
  override readonly name = 'MalformedAnswerError';

  constructor(at: Circumstances) {
    const hint =
      at.hint ?? 'see whether the base address is the service’s, or a web site, or a proxy that answers in its place';
    super({ code: 'malformed-answer', what: 'the answer is not what was asked for', retryable: true }, { ...at, hint });
  }
}

/**
 * A write that must not be repeated was sent, and whether it was done is not known. Not `retryable`: look what the
 * service holds before sending it again.
 */
export class UnknownOutcomeError extends ReviewApiError {
  override readonly name = 'UnknownOutcomeError';

  constructor(at: Circumstances) {
    const hint = at.hint ?? 'read what the service holds before sending it again';
    super(
      { code: 'unknown-outcome', what: 'sent, but it is not known whether it was done', retryable: false },
      { ...at, hint },
    );
  }
}

/** A list of reviews goes on behind its last page, number 30 (spec, 'List reviews', rule 4): what lies there was not read. */
export class PageLimitError extends ReviewApiError {
  override readonly name = 'PageLimitError';

  constructor(at: Circumstances) {
    const hint = at.hint ?? 'narrow the period, or add a filter, and read the parts one by one';
    super(
      { code: 'page-limit', what: 'more reviews lie behind page 30, the last one', retryable: false },
      { ...at, hint },
    );
  }
}
