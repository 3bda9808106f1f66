import type { Store } from './store.ts';

export type ReferenceServiceOptions = {
  /** A Postgres database, which may be empty; the service keeps to the schema `reference_service`. */
  databaseUrl: string;
  /** Default: a free port. */
  port?: number;
  /** Default 127.0.0.1. */
  host?: string;
  clientId?: string;
  clientSecret?: string;
  /** IANA zone in which dates without offset are read, and whose offset timestamps carry. Default Asia/Seoul. */
  timeZone?: string;
  /** Wait before each answer, in milliseconds. */
  latencyMs?: number;
  /** Share of requests that fail: 500, 503, or a connection that breaks before or after the work was done. */
  failRate?: number;
  /** Requests per second. Above this, the answer is 429. */
  rateLimitPerSecond?: number | undefined;
  /** How long a token is valid; default: it never expires. */
  tokenTtlSeconds?: number | undefined;
  /** Whether the client is a partner's API user, who may delete only reviews that it made itself. Default: no. */
  partner?: boolean;
  /** Form of the review options (docs/interface.md, "Review option"). */
  reviewOptionsForm?: 'default' | 'v2';
  /** Whether `cents` are hundredths or whole units. */
  moneyUnit?: 'hundredths' | 'whole';
  /** `currency_iso` of all amounts; default KRW. */
  currency?: string;
  /** The last page in the review list's `Link`: the true one, at most 30, or none. */
  lastPageLink?: 'real' | 'capped' | 'absent';
  /** Fields of a review that no response shows, even if the interface has them. Default: none. */
  hiddenFields?: readonly string[];
  /** Addresses to which webhooks are sent, beside those that the database holds already. */
  receivers?: readonly string[];
  /**
   * Whether each answer is checked against its schema before it is sent; an answer that does not fit becomes a 500.
   * Default: no.
   */
  checkAnswers?: boolean;
  /** The service's clock. */
  now?: () => Date;
  /** Decides which requests fail, and how; default Math.random. */
  random?: () => number;
};

/** What every resource of the service works with. */
export type Service = {
  store: Store;
  now: () => Date;
  options: ReferenceServiceOptions &
    Required<
      Pick<ReferenceServiceOptions, 'clientId' | 'clientSecret' | 'hiddenFields' | 'lastPageLink' | 'reviewOptionsForm'>
    >;
};
