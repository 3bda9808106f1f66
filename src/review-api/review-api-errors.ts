import { ReviewSyncError } from '../base/errors.ts';

/** What an error says about its request, without token, query or customer data. */
export type RequestContext = {
  method: string;
  path: string;
  status?: number | undefined;
  attempts?: number | undefined;
  detail?: string | undefined;
  hint?: string | undefined;
};

type ErrorKind = { code: string; what: string; retryable?: boolean; hint?: string };

/**
 * A request to the review service failed. All errors of this client extend this class, except a `TypeError` (an invalid
 * parameter, nothing was sent) and the reason of an abort.
 */
export class ReviewApiError extends ReviewSyncError {
  static readonly kind: ErrorKind = { code: 'failed', what: 'the request failed' };
  override readonly name: string = 'ReviewApiError';
  readonly method: string;
  readonly path: string;
  /** HTTP status of the last response; undefined if there was no response. */
  readonly status: number | undefined;
  /** How often the request was sent; 1 if the first response was final. */
  readonly attempts: number;
  /** The error text of the service, or what is wrong with the response. Masked, at most 300 characters. */
  readonly detail: string | undefined;
  /** Whether the same call may succeed later and is safe to repeat. */
  readonly retryable: boolean;
  /** The message without the number of attempts, so equal failures have equal reasons. */
  readonly reason: string;

  constructor(at: RequestContext, { code, what, retryable = false, hint }: ErrorKind = new.target.kind) {
    const { method, path, status, attempts = 1, detail } = at;
    const facts = [status === undefined ? '' : `status ${status}`, attempts > 1 ? `${attempts} attempts` : ''];
    const withFacts = (some: readonly string[]) =>
      `${method} ${path}: ${what}${some.length > 0 ? ` (${some.join(', ')})` : ''}${detail ? `: ${detail}` : ''}`;
    super(`review-api.${code}`, withFacts(facts.filter(Boolean)), { hint: at.hint ?? hint });
    this.reason = withFacts(facts.slice(0, 1).filter(Boolean));
    this.method = method;
    this.path = path;
    this.status = status;
    this.attempts = attempts;
    this.detail = detail;
    this.retryable = retryable;
  }
}

/**
 * The service gave no token for these credentials, or refused a fresh token. `isForAll`: it gave no token, or refused
 * three fresh tokens in a row for the overview, too, and not only for one call.
 */
export class AuthenticationError extends ReviewApiError {
  static override readonly kind: ErrorKind = {
    code: 'authentication',
    what: 'the review service did not accept the credentials',
    hint: 'check the client id and the client secret, and that they belong to this service',
  };
  override readonly name = 'AuthenticationError';
  readonly isForAll: boolean;

  constructor(at: RequestContext, isForAll = false) {
    super(at);
    this.isForAll = isForAll;
  }
}

/** The service refused the request (4xx other than 401, 404, 408, 410 and 429). The client does not send it again. */
export class RefusedError extends ReviewApiError {
  static override readonly kind: ErrorKind = { code: 'refused', what: 'refused by the review service' };
  override readonly name = 'RefusedError';
}

/** The service has no such record (404, 410). */
export class NotFoundError extends ReviewApiError {
  static override readonly kind: ErrorKind = { code: 'not-found', what: 'the review service has no such record' };
  override readonly name = 'NotFoundError';
}

/** The service still responded with 429 after all the waiting that `retry` allows. */
export class LimitedError extends ReviewApiError {
  static override readonly kind: ErrorKind = {
    code: 'limited',
    what: 'the review service asks for fewer requests',
    retryable: true,
    hint:
      'lower the requests per second or the requests in flight ' +
      '(review-sync: REVIEW_API_REQUESTS_PER_SECOND, REVIEW_API_CONCURRENCY)',
  };
  override readonly name = 'LimitedError';
}

/**
 * No usable response after all attempts: 5xx, 408, a redirect, refused or broken connections, timeouts. With a
 * `status`, this request failed and others may succeed. Without a `status`, the service cannot be reached. `retryable`
 * except for an invalid certificate. `isUnsent`: there was no connection, so the error says nothing about the record.
 */
export class UnavailableError extends ReviewApiError {
  override readonly name = 'UnavailableError';
  readonly isUnsent: boolean;

  constructor(at: RequestContext, retryable = true, isUnsent = false) {
    const what = at.status === undefined ? 'could not be reached' : 'failed on this request';
    super(at, { code: 'unavailable', what: `the review service ${what}`, retryable });
    this.isUnsent = isUnsent;
  }
}

/** The status is a success, but the body is not the expected array or object. It never counts as the end of a list. */
export class MalformedResponseError extends ReviewApiError {
  static override readonly kind: ErrorKind = {
    code: 'malformed-response',
    what: 'the response is not what this request returns',
    retryable: true,
    hint: 'check whether the base address belongs to the service; a web site or a proxy may respond in its place',
  };
  override readonly name = 'MalformedResponseError';
}

/** The response of a write that must not be repeated was lost, or the service only accepted it (202). */
export class UnknownOutcomeError extends ReviewApiError {
  static override readonly kind: ErrorKind = {
    code: 'unknown-outcome',
    what: 'sent, but it is not known whether the service carried it out',
    hint: 'read what the service holds before sending it again',
  };
  override readonly name = 'UnknownOutcomeError';
}

/** A list of reviews may continue after page 30 (docs/interface.md, "Reviews", rule 4). All 30 pages were read. */
export class PageLimitError extends ReviewApiError {
  static override readonly kind: ErrorKind = {
    code: 'page-limit',
    what: 'more reviews may follow after page 30, the last one',
    hint: 'narrow the period, or add a filter, and read the parts one by one',
  };
  override readonly name = 'PageLimitError';
}
