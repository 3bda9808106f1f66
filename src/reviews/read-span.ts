import { type Second, unitEnd } from '../span.ts';
import { cut } from './plan-windows.ts';
import { pagesAPiece, type ReadDeps, type Sink, SpanRun } from './span-run.ts';
import type { Window } from './window.ts';

/** Parts of a span that are read side by side where the service does not tell how much the whole holds. */
const spansAtATime = 3;
/**
 * Reads every review of a window, whatever is added, changed or deleted meanwhile: what stood throughout is read.
 *
 * @returns a sentence for all that makes it incomplete: a moment that holds more than any query can reach, dates that
 *   were not asked for.
 * @throws the client's errors and the sink's, after all lanes have ended.
 */
export async function readSpan(deps: ReadDeps, window: Window, sink: Sink): Promise<string[]> {
  const run = new SpanRun(deps, window, sink);
  const left = await run.read();
  if (left === undefined) return run.unreachable;
  const { axis } = window;
  const rest = { start: left.start, end: window.span.end };
  const length = rest.end - rest.start;
  const width = left.pieceSeconds ?? length;
  // A long rest is begun at several places; each finds out by itself how much of it can be counted.
  const spans = length > 8 * width ? cut(rest, Math.ceil(length / spansAtATime)) : [rest];
  const ends = await Promise.allSettled(spans.map((span) => readPieces(deps, { axis, span }, sink, width)));
  for (const end of ends) if (end.status === 'rejected') throw end.reason;
  return [...run.unreachable, ...ends.flatMap((end) => (end.status === 'fulfilled' ? end.value : []))];
}

/** Reads a span piece by piece, each about as long as can be counted, going by what the one before it held. */
async function readPieces(deps: ReadDeps, { axis, span }: Window, sink: Sink, width: Second): Promise<string[]> {
  const told: string[] = [];
  let { start } = span;
  let length = width;
  while (start < span.end) {
    // Never into an hour that daylight saving repeats: it can only be asked for whole, by each piece that touches it.
    const piece = { start, end: Math.min(span.end, unitEnd(start + length - 1, deps.timeZone)) };
    const run = new SpanRun(deps, { axis, span: piece }, sink);
    const left = await run.read();
    told.push(...run.unreachable);
    start = left?.start ?? piece.end;
    if (left?.pieceSeconds !== undefined) length = Math.max(1, Math.min(left.pieceSeconds, Math.floor(length / 2)));
    else if (!left) length = Math.ceil(length * Math.min(8, pagesAPiece / run.pages));
  }
  return told;
}
