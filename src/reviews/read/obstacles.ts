import { MalformedResponseError, NotFoundError, RefusedError, UnavailableError } from '../../review-api/index.ts';
import type { GapKind } from '../../warehouse/reviews/open-gaps.ts';

/**
 * Spans of a window that are halved because the service cannot show them. One second in 44 days takes 22 halvings. A
 * refusal takes one request. A failure takes the waits of the client: `doubtAfterMs` for the first, `halvingGiveUpMs`
 * for each further.
 */
export const halvingsAtMost = { refused: 50, failed: 24 } as const satisfies Partial<Record<GapKind, number>>;
/**
 * How long a list on which the service fails is requested before the service is asked for another one, in milliseconds.
 * Where that one fails too, the service is down, and the client waits for its two minutes. 12 s and 22 halvings of
 * `halvingGiveUpMs` stay below 30 s.
 */
export const doubtAfterMs = 12_000;
/** The same for each list of a window in which the service has failed on one. 22 halvings take some 7 s. */
export const halvingGiveUpMs = 500;
/** For requests whose failure leaves nothing unread, in milliseconds. */
export const probeGiveUpMs = 3000;

/**
 * Why a span cannot be read as it is. `refused`: with a 4xx status. `failed`: with a 5xx status, a malformed
 * body, or without any response: a request that takes the service too long, or that its process dies of, may end so.
 */
export type Obstacle = keyof typeof halvingsAtMost;

/**
 * Undefined where the error is not one of this span: of the database, a failed authentication, an invalid certificate.
 */
export function obstacleOf(error: unknown): Obstacle | undefined {
  if (error instanceof RefusedError || error instanceof NotFoundError) return 'refused';
  const isFailure = error instanceof UnavailableError || error instanceof MalformedResponseError;
  return isFailure && error.retryable ? 'failed' : undefined;
}
