import { MalformedResponseError, NotFoundError, RefusedError, UnavailableError } from '../../review-api/index.ts';
import type { GapKind } from '../../warehouse/open-gaps.ts';
import { fetchPage, type PageDeps } from './list-page.ts';
import type { Axis } from './window.ts';

/**
 * Spans of a window that are halved because the service cannot show them. One second in 44 days takes 22 halvings. A refusal takes
 * one request. A failure takes the waits of the client: two minutes for the first, `giveUpAfterMs` for each further.
 */
export const halvingsAtMost = { refused: 50, 'service-error': 24 } as const satisfies Partial<Record<GapKind, number>>;
export const giveUpAfterMs = 5000;

/**
 * Why a span cannot be read as it is. `refused`: with a 4xx status. `service-error`: with a 5xx status, a malformed body, or without
 * any response: a request that takes the service too long, or that its process dies of, may end so.
 */
export type Obstacle = keyof typeof halvingsAtMost;

/** Undefined where the error is not one of this span: of the database, a failed authentication, an invalid certificate. */
export function obstacleOf(error: unknown): Obstacle | undefined {
  if (error instanceof RefusedError || error instanceof NotFoundError) return 'refused';
  const isFailure = error instanceof UnavailableError || error instanceof MalformedResponseError;
  return isFailure && error.retryable ? 'service-error' : undefined;
}

/** Whether the service fails on some lists only: it is asked for the last second that may have reviews, in which none are. */
export async function isResponding(deps: PageDeps, axis: Axis): Promise<boolean> {
  const { end } = deps.plausible;
  try {
    await fetchPage({ ...deps, giveUpAfterMs }, { axis, span: { start: end - 1, end } }, 1, 1);
    return true;
  } catch (error) {
    return obstacleOf(error) === 'refused';
  }
}
