import type { LimitFunction } from 'p-limit';
import { describeError } from '../../base/errors.ts';
import { isoOf, type Span, without } from '../../base/time/span.ts';
import type { Gap } from '../../warehouse/reviews/open-gaps.ts';
import { obstacleFor, type PageDeps } from './list-page.ts';
import { halvingGiveUpMs, halvingsAtMost, type Obstacle } from './obstacles.ts';
import { halvesOf, readExhaustively, spanText } from './read-exhaustively.ts';
import { beginReading, type End, type Land, type Proven, type Reading, type Todo } from './reading.ts';
import { walk } from './walk.ts';
import type { Axis, Window } from './window.ts';

export type ReadDeps = PageDeps & {
  /** Slots of this process: spans that are read at a time, over all windows. */
  slots: LimitFunction;
};

export type Sink = {
  /** Lands a page: its reviews are true whether or not the span is proven. */
  land: Land;
  /** Enters a proven span, once. Gives a sentence where it must not count as read after all. */
  enter(proven: Proven): Promise<string | undefined>;
};

/** `gaps`: what cannot be called read. */
export type SpansRead = { gaps: Gap[]; requests: number; reviews: number; spans: number };

/** Errors that are not of one span, after which no further span of the window is begun. */
const errorsAtMost = 3;

/**
 * Reads every review of a window, whatever is added, changed or deleted meanwhile: what stood throughout is read.
 *
 * 1. The window is the first span to read. As many spans are read at a time as there are slots.
 * 2. `walk` reads a span from first page to first page. Each page lands as it comes.
 * 3. The walk leaves parts of the span to other readings, which begin at once: what lies behind page 30, and a second
 *    that fills a page.
 * 4. A full second, and a span whose list is not sorted, is read by page numbers, score, both ends and product.
 * 5. A span that was read is proven by the page on which its list has to end, then entered. What is not proven is read
 *    by page numbers.
 * 6. A span that the service refuses or fails on is halved, so that the gap is no larger than the obstacle. What else
 *    cannot be read is a gap, and so are the pages of which a record could not be written. Everything else is read all
 *    the same.
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
  const work: SpansReading = {
    deps,
    axis,
    sink,
    read,
    met: { refused: 0, 'service-error': 0 },
    unreadable: [],
    errors: new Set(),
    running: [],
  };
  beginSpans(
    work,
    spans.map((one) => ({ span: one, how: 'walk' })),
  );
  // Readings add others to the end of the list while the loop goes through it.
  for (const one of work.running) await one;
  for (const error of work.errors) throw error;
  read.gaps.push(...joined(work.unreadable).map((one) => unreadableGap(axis, one)));
  return read;
}

type Unreadable = { span: Span; kind: Obstacle; error: unknown };

/** One window while it is read. */
type SpansReading = {
  readonly deps: ReadDeps;
  readonly axis: Axis;
  readonly sink: Sink;
  /** What was read so far. */
  readonly read: SpansRead;
  /** How many readings met an obstacle. */
  readonly met: Record<Obstacle, number>;
  /** Spans that the service refuses or fails on, and that are not halved. */
  readonly unreadable: Unreadable[];
  /** Errors that are not of one span. */
  readonly errors: Set<unknown>;
  /** The readings that were begun; none of them rejects. */
  readonly running: Promise<void>[];
};

function beginSpans(work: SpansReading, todos: readonly Todo[]): void {
  for (const todo of todos) work.running.push(work.deps.slots(() => readOne(work, todo)));
}

async function readOne(work: SpansReading, todo: Todo): Promise<void> {
  const { axis, sink, met, errors } = work;
  if (errors.size >= errorsAtMost) return;
  // Where the service has failed already, no request is repeated for long again.
  const deps = met['service-error'] > 0 ? { ...work.deps, giveUpAfterMs: halvingGiveUpMs } : work.deps;
  const reading = beginReading(deps, axis, todo.span, { land: sink.land, begin: (todos) => beginSpans(work, todos) });
  try {
    await conclude(work, reading, await (todo.how === 'walk' ? walk(reading, todo.first) : readExhaustively(reading)));
  } catch (error) {
    await halve(work, { span: reading.span, how: todo.how }, error);
  } finally {
    // The reading may have handed over a page that could not land already.
    await reading.landed().catch((error: unknown) => errors.add(error));
    work.read.requests += reading.requests;
  }
}

async function conclude(work: SpansReading, reading: Reading, end: End): Promise<void> {
  const { span, outOfRange } = reading;
  if (span.end <= span.start) return;
  if (outOfRange !== undefined) {
    const { timeZone } = work.deps;
    const reason =
      `The service shows a review of ${isoOf(outOfRange)} where ${spanText(span)} (${work.axis}) was asked for: ` +
      `REVIEW_API_TIME_ZONE, ${timeZone}, may not be the zone in which it reads dates`;
    work.read.gaps.push({ span, kind: 'out-of-range', reason });
  } else if (end.kind === 'proven') await enter(work, reading);
  else if (end.kind === 'reread') beginSpans(work, end.todos);
  else work.read.gaps.push({ span, ...end });
}

async function enter({ sink, read }: SpansReading, reading: Reading): Promise<void> {
  await reading.landed();
  const { span } = reading;
  const proven = reading.proven();
  for (const one of without(span, proven.spans)) {
    const reason =
      `Among the reviews from ${isoOf(one.start)} to ${isoOf(one.end)} are some that could not be written: ` +
      'see npx review-sync dead-letters';
    read.gaps.push({ span: one, kind: 'dead-letter', reason });
  }
  if (proven.spans.length === 0) return;
  const reason = await sink.enter(proven);
  if (reason !== undefined) {
    read.gaps.push({ span, kind: 'too-few', reason });
    return;
  }
  read.spans += 1;
  read.reviews += proven.reviews;
}

/** Reads the halves of a span that could not be read; or leaves it, where it is an obstacle that cannot be halved. */
async function halve(work: SpansReading, { span, how }: Todo, error: unknown): Promise<void> {
  const { deps, axis, met, unreadable, errors } = work;
  const kind = errors.size > 0 ? undefined : await obstacleFor(deps, axis, error);
  if (kind === undefined) {
    errors.add(error);
    return;
  }
  met[kind] += 1;
  const halves = met[kind] > halvingsAtMost[kind] ? [] : halvesOf(span, deps.timeZone);
  if (halves.length === 0) unreadable.push({ span, kind, error });
  beginSpans(
    work,
    halves.map((half) => ({ span: half, how })),
  );
}

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
