import type { LimitFunction } from 'p-limit';
import { describeError } from '../../base/errors.ts';
import { gaps, isoOf, type Span } from '../../base/time/span.ts';
import { MalformedResponseError, NotFoundError, RefusedError, UnavailableError } from '../../review-api/index.ts';
import type { GapKind } from '../../warehouse/open-gaps.ts';
import type { PageDeps } from './list-page.ts';
import { halvesOf, readExhaustively, spanText } from './read-exhaustively.ts';
import { beginReading, type End, type Land, type Proven, type Reading, type Todo } from './reading.ts';
import { walk } from './walk.ts';
import type { Window } from './window.ts';

export type ReadDeps = PageDeps & {
  /** Slots of this process: spans that are read at a time, over all windows. */
  slots: LimitFunction;
};

/** A span that cannot be called read, and why: a sentence. */
export type Hole = { span: Span; kind: GapKind; reason: string };

export type Sink = {
  /** Lands a page: its reviews are true whether or not the span is proven. */
  land: Land;
  /** Enters a proven span, once. Gives a sentence where it must not count as read after all. */
  enter(proven: Proven): Promise<string | undefined>;
};

export type WindowRead = { holes: Hole[]; requests: number; reviews: number; spans: number };

/** Errors of other kinds (of the database, a failed authentication) after which no further span of the window is begun. */
const errorsAtMost = 3;
/** Failed requests, and no page since the first of them, after which the service counts as down. 7: a span, its halves and quarters. */
const failuresAtMost = 7;
/**
 * Spans that are halved because the service refuses them, or fails on them. One second in 44 days takes 22 halvings. A refusal
 * takes one request. A failure takes the waits of the client: two minutes for the first, `giveUpAfterMs` for each further.
 */
const halvingsAtMost = { refused: 50, failed: 24 };
const giveUpAfterMs = 5000;

/**
 * Reads every review of a window, whatever is added, changed or deleted meanwhile: what stood throughout is read.
 *
 * 1. The window is the first span to read. As many spans are read at a time as there are slots.
 * 2. `walk` reads a span from first page to first page. Each page lands as it comes.
 * 3. The walk leaves parts of the span to other readings, which begin at once: what lies behind page 30, and a second that fills
 *    a page.
 * 4. A full second, and a span whose list is not sorted, is read by page numbers, score, both ends and product.
 * 5. A span that was read is proven by the page on which its list has to end, then entered. What is not proven is read by page
 *    numbers.
 * 6. A span that the service refuses or fails on is halved, so that only the obstacle becomes a hole. What else cannot be
 *    read is a hole, and so are the pages of which a record could not be written. Everything else is read all the same.
 *
 * @param spans the parts of the window that are to be read.
 * @returns the holes.
 * @throws the client's errors where the service is down, and the sink's, when every span that was begun has ended.
 */
export async function readWindow(
  deps: ReadDeps,
  window: Window,
  sink: Sink,
  spans: readonly Span[] = [window.span],
): Promise<WindowRead> {
  const { axis } = window;
  const result: WindowRead = { holes: [], requests: 0, reviews: 0, spans: 0 };
  const errors: unknown[] = [];
  const halvings = { refused: 0, failed: 0 };
  const obstacles: { span: Span; error: unknown }[] = [];
  let failures = 0;
  let hasRespondedSince = false;
  const running: Promise<void>[] = [];

  const begin = (todos: readonly Todo[]) => {
    running.push(...todos.map((todo) => deps.slots(() => readOne(todo))));
  };
  const land: Land = (page) => {
    hasRespondedSince = true;
    return sink.land(page);
  };

  async function readOne({ span, how, first }: Todo): Promise<void> {
    if (errors.length >= errorsAtMost) return;
    const limited = halvings.failed > 0 ? { ...deps, giveUpAfterMs } : deps;
    const reading = beginReading(limited, axis, span, { land, begin });
    try {
      await conclude(reading, await (how === 'walk' ? walk(reading, first) : readExhaustively(reading)));
    } catch (error) {
      halve({ span: reading.span, how }, error);
    } finally {
      // The reading may have reported a page that could not land already.
      await reading.landed().catch((error: unknown) => !errors.includes(error) && errors.push(error));
      result.requests += reading.requests;
    }
  }

  async function conclude(reading: Reading, end: End): Promise<void> {
    const { span, outOfRange } = reading;
    if (span.end <= span.start) return;
    if (outOfRange !== undefined) {
      const reason = `The service shows a review of ${isoOf(outOfRange)} where ${spanText(span)} (${axis}) was asked for: REVIEW_API_TIME_ZONE, ${deps.timeZone}, may not be the zone in which it reads dates`;
      result.holes.push({ span, kind: 'out-of-range', reason });
    } else if (end.kind === 'proven') await enter(reading);
    else if (end.kind === 'reread') begin(end.todos);
    else result.holes.push({ span, kind: 'unreachable', reason: end.reason });
  }

  function halve({ span, how }: Todo, error: unknown): void {
    const kind = obstacleOf(error);
    if (kind === 'failed') {
      if (failures === 0) hasRespondedSince = false;
      failures += 1;
    }
    const isDown = failures >= failuresAtMost && !hasRespondedSince;
    if (kind === undefined || isDown || errors.length > 0) {
      errors.push(error);
      return;
    }
    halvings[kind] += 1;
    const halves = halvings[kind] > halvingsAtMost[kind] ? [] : halvesOf(span, deps.timeZone);
    if (halves.length === 0) obstacles.push({ span, error });
    begin(halves.map((half) => ({ span: half, how })));
  }

  async function enter(reading: Reading): Promise<void> {
    await reading.landed();
    const { span } = reading;
    const proven = reading.proven();
    for (const one of gaps(span, proven.spans)) {
      const reason = `Among the reviews from ${isoOf(one.start)} to ${isoOf(one.end)} are some that could not be written: see npx review-sync dead-letters`;
      result.holes.push({ span: one, kind: 'unwritten', reason });
    }
    if (proven.spans.length === 0) return;
    const reason = await sink.enter(proven);
    if (reason !== undefined) {
      result.holes.push({ span, kind: 'implausible', reason });
      return;
    }
    result.spans += 1;
    result.reviews += proven.reviews;
  }

  begin(spans.map((span) => ({ span, how: 'walk' })));
  // Readings add others to the end of the list while the loop goes through it.
  for (const one of running) await one;
  if (errors.length > 0) throw errors[0];
  for (const { span, error } of joined(obstacles)) {
    const reason = `The reviews ${axis} from ${isoOf(span.start)} to ${isoOf(span.end)} cannot be read: ${describeError(error)}`;
    result.holes.push({ span, kind: 'refused', reason });
  }
  return result;
}

/** The obstacles, neighbours as one. */
function joined<Obstacle extends { span: Span }>(obstacles: readonly Obstacle[]): Obstacle[] {
  const all: Obstacle[] = [];
  for (const one of obstacles.toSorted((a, b) => a.span.start - b.span.start)) {
    const last = all.at(-1);
    if (last?.span.end !== one.span.start) all.push(one);
    else all[all.length - 1] = { ...last, span: { start: last.span.start, end: one.span.end } };
  }
  return all;
}

/** Whether an error may be one of this request alone: refused with a 4xx status, or failed with a 5xx status or a malformed body. */
function obstacleOf(error: unknown): 'refused' | 'failed' | undefined {
  if (error instanceof RefusedError || error instanceof NotFoundError) return 'refused';
  const isFailure = error instanceof UnavailableError || error instanceof MalformedResponseError;
  return isFailure && error.status !== undefined ? 'failed' : undefined;
}
