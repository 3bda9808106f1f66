import type { LimitFunction } from 'p-limit';
import { isoOf, type Span } from '../../base/time/span.ts';
import type { Gap } from '../../warehouse/reviews/open-gaps.ts';
import { type ListPage, type PageDeps, UnreadableError } from './list-page.ts';
import { halvesOf, type Part, readSpan } from './read-span.ts';
import { beginReading, type Proven } from './reading.ts';
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

/** Spans of a window that are halved. One second in 44 days takes 22 halvings. A later run halves the gap further. */
const halvingsAtMost = 24;
/** How long a half is requested where the service fails on it, in milliseconds. 22 halvings take some 7 s. */
const halfGiveUpMs = 500;

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
 * @returns what cannot be called read.
 * @throws the client's errors where the service is down, and the sink's, when every span that was begun has ended.
 */
export async function readSpans(
  deps: ReadDeps,
  { axis, span }: Window,
  sink: Sink,
  spans: readonly Span[] = [span],
): Promise<Gap[]> {
  const gaps: Gap[] = [];
  const failures: unknown[] = [];
  let halvings = 0;
  // None of them rejects. Readings add others to the end of the list while the loop below goes through it.
  const running: Promise<void>[] = [];
  const begin = (parts: readonly Part[]) => {
    for (const part of parts) running.push(deps.slots(() => readOne(part)));
  };

  async function readOne({ span, guess, giveUpAfterMs }: Part): Promise<void> {
    if (failures.length > 0) return;
    const reading = beginReading({ ...deps, giveUpAfterMs }, axis, span, sink.land);
    try {
      const parts = await readSpan(reading, guess);
      await reading.landed();
      if (parts.length > 0) begin(parts);
      else await sink.enter(reading.proven());
    } catch (error) {
      // A page that was taken before the error may still be on its way.
      await reading.landed().catch((landing: unknown) => failures.push(landing));
      if (error instanceof UnreadableError) halve(span, error);
      else failures.push(error);
    }
  }

  function halve(span: Span, { kind, message }: UnreadableError): void {
    const halves = isObstacle({ kind }) && halvings < halvingsAtMost ? halvesOf(span, deps.timeZone) : [];
    if (halves.length === 0) gaps.push({ span, kind, reason: message });
    else halvings += 1;
    begin(halves.map((half) => ({ span: half, ...(kind === 'failed' && { giveUpAfterMs: halfGiveUpMs }) })));
  }

  begin(spans.map((one) => ({ span: one })));
  for (const one of running) await one;
  for (const failure of failures) throw failure;
  return [...gaps.filter((gap) => !isObstacle(gap)), ...joined(axis, gaps.filter(isObstacle))];
}

/** Whether the service refuses the span or fails on it: a half of it may do. */
const isObstacle = ({ kind }: Pick<Gap, 'kind'>) => kind === 'refused' || kind === 'failed';

/** Neighbours as one, with a sentence as the reason. */
function joined(axis: Axis, gaps: readonly Gap[]): Gap[] {
  const all: Gap[] = [];
  for (const gap of gaps.toSorted((a, b) => a.span.start - b.span.start)) {
    const last = all.at(-1);
    if (last?.span.end !== gap.span.start || last.kind !== gap.kind) all.push(gap);
    else all[all.length - 1] = { ...last, span: { start: last.span.start, end: gap.span.end } };
  }
  return all.map(({ span: { start, end }, kind, reason }) => ({
    span: { start, end },
    kind,
    reason: `The reviews ${axis} from ${isoOf(start)} to ${isoOf(end)} cannot be read: ${reason}`,
  }));
}
