import type { LimitFunction } from 'p-limit';
import { describeError } from '../../base/errors.ts';
import { isoOf, type Second, type Span } from '../../base/time/span.ts';
import type { Gap } from '../../warehouse/reviews/open-gaps.ts';
import { type ListPage, obstacleFor, type PageDeps } from './list-page.ts';
import { halvingGiveUpMs, halvingsAtMost, type Obstacle } from './obstacles.ts';
import { halvesOf, type Part, readSpan, type SpanEnd, spanText } from './read-span.ts';
import { beginReading, type Proven, type Reading } from './reading.ts';
import type { Axis, Window } from './window.ts';

export type ReadDeps = PageDeps & {
  /** Slots of this process: spans that are read at a time, over all windows. */
  slots: LimitFunction;
};

export type Sink = {
  /** Lands a page: its reviews are true whether or not the span is proven. */
  land(page: ListPage): Promise<unknown>;
  /** Enters a proven span, once, when all its pages have landed. */
  enter(proven: Proven): Promise<void>;
};

/** `gaps`: what cannot be called read. */
export type SpansRead = { gaps: Gap[]; requests: number; reviews: number; spans: number };

/** Errors that are not of one span, after which no further span of the window is begun. */
const errorsAtMost = 3;

/**
 * Reads every review of a window, whatever is added, changed or deleted meanwhile: what stood throughout is read.
 *
 * 1. The window is the first span to read. As many spans are read at a time as there are slots.
 * 2. `readSpan` reads a span by page numbers. Each page lands as it comes. A span that holds too much is cut, and its
 *    parts begin at once.
 * 3. A span of which everything was read is entered.
 * 4. A span that the service refuses or fails on is halved, so that the gap is no larger than the obstacle. What else
 *    cannot be read is a gap. Everything else is read all the same.
 *
 * @param spans the parts of the window that are to be read.
 * @throws the client's errors where the service is down, and the sink's, when every span that was begun has ended.
 */
export async function readSpans(
  deps: ReadDeps,
  { axis, span }: Window,
  sink: Sink,
  spans: readonly Span[] = [span],
): Promise<SpansRead> {
  const read: SpansRead = { gaps: [], requests: 0, reviews: 0, spans: 0 };
  const unreadable: Unreadable[] = [];
  const errors = new Set<unknown>();
  const met: Record<Obstacle, number> = { refused: 0, failed: 0 };
  // None of them rejects. Readings add others to the end of the list while the loop below goes through it.
  const running: Promise<void>[] = [];
  const begin = (parts: readonly Part[]) => {
    for (const part of parts) running.push(deps.slots(() => readOne(part)));
  };

  async function readOne(part: Part): Promise<void> {
    if (errors.size >= errorsAtMost) return;
    // Where the service has failed already, no request is repeated for long again.
    const reading = beginReading(
      met.failed > 0 ? { ...deps, giveUpAfterMs: halvingGiveUpMs } : deps,
      axis,
      part.span,
      sink.land,
    );
    try {
      await conclude(reading, await readSpan(reading, part.start));
    } catch (error) {
      await halve(part.span, error);
    } finally {
      // A page that was taken before the error may still be on its way.
      await reading.landed().catch((error: unknown) => errors.add(error));
      read.requests += reading.requests;
    }
  }

  async function conclude(reading: Reading, end: SpanEnd): Promise<void> {
    const { outOfRange } = reading;
    // The parts of the span may rely upon its pages.
    await reading.landed();
    if (outOfRange !== undefined) {
      read.gaps.push({ span: reading.span, kind: 'unproven', reason: outOfRangeReason(deps, reading, outOfRange) });
    } else if (end.kind === 'split') begin(end.parts);
    else if (end.kind !== 'proven') read.gaps.push({ span: reading.span, ...end });
    else {
      const proven = reading.proven();
      await sink.enter(proven);
      read.spans += 1;
      read.reviews += proven.reviews;
    }
  }

  async function halve(span: Span, error: unknown): Promise<void> {
    const kind = errors.size > 0 ? undefined : await obstacleFor(deps, axis, error);
    if (kind === undefined) {
      errors.add(error);
      return;
    }
    met[kind] += 1;
    const halves = met[kind] > halvingsAtMost[kind] ? [] : halvesOf(span, deps.timeZone);
    if (halves.length === 0) unreadable.push({ span, kind, error });
    begin(halves.map((half) => ({ span: half })));
  }

  begin(spans.map((one) => ({ span: one })));
  for (const one of running) await one;
  for (const error of errors) throw error;
  read.gaps.push(...joined(unreadable).map((one) => unreadableGap(axis, one)));
  return read;
}

type Unreadable = { span: Span; kind: Obstacle; error: unknown };

/** Neighbours as one. */
function joined(spans: readonly Unreadable[]): Unreadable[] {
  const all: Unreadable[] = [];
  for (const one of spans.toSorted((a, b) => a.span.start - b.span.start)) {
    const last = all.at(-1);
    if (last?.span.end !== one.span.start || last.kind !== one.kind) all.push(one);
    else all[all.length - 1] = { ...last, span: { start: last.span.start, end: one.span.end } };
  }
  return all;
}

function unreadableGap(axis: Axis, { span, kind, error }: Unreadable): Gap {
  const reason = `The reviews ${axis} from ${isoOf(span.start)} to ${isoOf(span.end)} cannot be read: ${describeError(error)}`;
  return { span, kind, reason };
}

function outOfRangeReason({ timeZone }: ReadDeps, { axis, span }: Reading, date: Second): string {
  return (
    `The service shows a review of ${isoOf(date)} where ${spanText(span)} (${axis}) was asked for: ` +
    `REVIEW_API_TIME_ZONE, ${timeZone}, may not be the zone in which it reads dates`
  );
}
