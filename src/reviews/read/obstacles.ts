import { MalformedResponseError, NotFoundError, RefusedError, UnavailableError } from '../../review-api/index.ts';
import type { GapKind } from '../../warehouse/open-gaps.ts';

/** Failed requests, and no page since the first of them, after which the service counts as down. 7: a span, its halves and quarters. */
const failuresAtMost = 7;
/**
 * Spans of a window that are halved. One second in 44 days takes 22 halvings. A refusal takes one request. A failure takes the
 * waits of the client: two minutes for the first, `giveUpAfterMs` for each further.
 */
const halvingsAtMost = { refused: 50, 'service-error': 24 } as const satisfies Partial<Record<GapKind, number>>;
const giveUpAfterMs = 5000;

/**
 * Why a span cannot be read as it is. `refused`: with a 4xx status. `service-error`: with a 5xx status, a malformed body, or without any
 * response: a request that takes the service too long, or that its process dies of, may end so.
 */
export type Obstacle = keyof typeof halvingsAtMost;

/** Undefined where the error is not one of this span: of the database, a failed authentication, an invalid certificate. */
export function obstacleOf(error: unknown): Obstacle | undefined {
  if (error instanceof RefusedError || error instanceof NotFoundError) return 'refused';
  const isFailure = error instanceof UnavailableError || error instanceof MalformedResponseError;
  return isFailure && error.retryable ? 'service-error' : undefined;
}

/** Counts the obstacles that the readings of one window meet, and says what follows each. */
export function createObstacles() {
  const met = { refused: 0, 'service-error': 0 };
  let hasRespondedSince = false;
  return {
    /** The service showed a page. */
    pageCame(): void {
      hasRespondedSince = true;
    },
    /** How long a request may be repeated: not for minutes again where the service has failed already. */
    giveUpAfterMs: () => (met['service-error'] > 0 ? giveUpAfterMs : undefined),
    /**
     * - `stop`: the service is down.
     * - `halve`: the service may show a part of the span.
     * - `leave`: so many spans were halved that this one stays a gap.
     */
    after(obstacle: Obstacle): 'stop' | 'halve' | 'leave' {
      met[obstacle] += 1;
      const failures = met['service-error'];
      if (obstacle === 'service-error' && failures === 1) hasRespondedSince = false;
      if (failures >= failuresAtMost && !hasRespondedSince) return 'stop';
      return met[obstacle] > halvingsAtMost[obstacle] ? 'leave' : 'halve';
    },
  };
}
