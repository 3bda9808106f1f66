import { ReviewSyncError } from '../base/errors.ts';

/** What an error says about its request. It holds no token, no query and no customer's data. */
export type RequestContext = {
  method: string;
  path: string;
  status?: number | undefined;
  /** How often the request was sent. Given where it failed for a reason that may go away by waiting. */
  attempts?: number | undefined;
  /** The error text of the service, or what is wrong with the response. Masked, at most 300 characters. */
  detail?: string | undefined;
  cause?: unknown;
  hint?: string | undefined;
};

type ErrorKind = { code: string; what: string; retryable: boolean; hint?: string };

/**
 * A request to the review service failed. All errors of this client extend this class, except for a `TypeError` (a
 * parameter is not valid, nothing was sent) and the reason of an abort.
 *
 * `retryable` means that the same call may succeed later and does no harm. The client has already repeated it for as
 * long as `retry` allows.
 */
export class ReviewApiError extends ReviewSyncError {
  override readonly name: string = 'ReviewApiError';
  readonly method: string;
  readonly path: string;
  /** HTTP status of the last response; undefined where there was no response. */
  readonly status: number | undefined;
  /** How often the request was sent; 1 where the first response was final. */
  readonly attempts: number;
  /** The error text of the service, or what is wrong with the response. Masked, at most 300 characters. */
  readonly detail: string | undefined;
  readonly retryable: boolean;

  constructor(kind: ErrorKind, at: RequestContext) {
    const facts = [
      ...(at.status === undefined ? [] : [`status ${at.status}`]),
      ...((at.attempts ?? 1) > 1 ? [`${at.attempts} attempts`] : []),
    ];
    const status = facts.length === 0 ? '' : ` (${facts.join(', ')})`;
    const detail = at.detail ? `: ${at.detail}` : '';
    super(`review-api.${kind.code}`, `${at.method} ${at.path}: ${kind.what}${status}${detail}`, {
      cause: at.cause,
      hint: at.hint ?? kind.hint,
    });
    this.method = at.method;
    this.path = at.path;
    this.status = at.status;
    this.attempts = at.attempts ?? 1;
    this.detail = at.detail;
    this.retryable = kind.retryable;
  }
}

/** The service gave no token for these credentials, or refused two fresh tokens in a row. */
export class AuthenticationError extends ReviewApiError {
  override readonly name = 'AuthenticationError';
  static readonly kind: ErrorKind = {
    code: 'authentication',
    what: 'the review service did not accept the credentials',
    retryable: false,
    hint: 'check the client id and the client secret, and that they belong to this service',
  };

  constructor(at: RequestContext) {
    super(AuthenticationError.kind, at);
  }
}

/** The service refused the request (4xx other than 401, 404, 408 and 429). The client does not send it again. */
export class RefusedError extends ReviewApiError {
  override readonly name = 'RefusedError';

  constructor(at: RequestContext) {
    super({ code: 'refused', what: 'refused by the review service', retryable: false }, at);
  }
}

/** The service has no such record (404). */
export class NotFoundError extends ReviewApiError {
  override readonly name = 'NotFoundError';

  constructor(at: RequestContext) {
    super({ code: 'not-found', what: 'the review service has no such record', retryable: false }, at);
  }
}

/** The service still responded with 429 after all the waiting that `retry` allows. */
export class LimitedError extends ReviewApiError {
  override readonly name = 'LimitedError';
  static readonly kind: ErrorKind = {
    code: 'limited',
    what: 'the review service asks for fewer requests',
    retryable: true,
    hint: 'lower the requests per second or the requests in flight',
  };

  constructor(at: RequestContext) {
    super(LimitedError.kind, at);
  }
}

/**
 * No usable response after all attempts: 5xx, refused or broken connections, timeouts. `status` is set where the
 * service responded with 5xx or 408 (this request fails, others may not), and undefined where there was no response
 * (the service cannot be reached). A certificate that is not valid is the one case that is not `retryable`.
 */
export class UnavailableError extends ReviewApiError {
  override readonly name = 'UnavailableError';

  constructor(at: RequestContext, retryable = true) {
    const what =
      at.status === undefined ? 'the review service could not be reached' : 'the review service failed on this request';
    super({ code: 'unavailable', what, retryable }, at);
  }
}

/**
 * The status is a success, but the body is not the expected array or object. It is never read as the end of a list. An
 * integer beyond 2^53 - 1 is the one case that is not `retryable`: the record has it in every response.
 */
export class MalformedResponseError extends ReviewApiError {
  override readonly name = 'MalformedResponseError';
  static readonly kind = {
    code: 'malformed-response',
    what: 'the response is not what this request returns',
    hint: 'check whether the base address belongs to the service; a web site or a proxy may respond in its place',
  };

  constructor(at: RequestContext, retryable = true) {
    super({ ...MalformedResponseError.kind, retryable }, at);
  }
}

/**
 * A write was sent, and it is not known whether the service carried it out: its response was lost and it must not be
 * repeated, or the service only accepted it (202). Not `retryable`: read what the service holds before sending it
 * again.
 */
export class UnknownOutcomeError extends ReviewApiError {
  override readonly name = 'UnknownOutcomeError';
  static readonly kind: ErrorKind = {
    code: 'unknown-outcome',
    what: 'sent, but it is not known whether the service carried it out',
    retryable: false,
    hint: 'read what the service holds before sending it again',
  };

  constructor(at: RequestContext) {
    super(UnknownOutcomeError.kind, at);
  }
}

/**
 * A list of reviews may continue after page 30, the last one (docs/interface.md, "Reviews", rule 4). All 30 pages were
 * read.
 */
export class PageLimitError extends ReviewApiError {
  override readonly name = 'PageLimitError';
  static readonly kind: ErrorKind = {
    code: 'page-limit',
    what: 'more reviews may follow after page 30, the last one',
    retryable: false,
    hint: 'narrow the period, or add a filter, and read the parts one by one',
  };

  constructor(at: RequestContext) {
    super(PageLimitError.kind, at);
  }
}
