import { counted } from '../../base/counts.ts';
import { IncompleteError } from '../../base/errors.ts';
import { isoOf } from '../../base/time/span.ts';
import type { Axis, Gap } from '../../warehouse/reviews/coverage.ts';

/** Neighbours that cannot be read for one reason as one, with a sentence. */
export function joinedGaps(axis: Axis, gaps: readonly Gap[]): Gap[] {
  const all: Gap[] = [];
  for (const gap of gaps.toSorted((a, b) => a.span.start - b.span.start)) {
    const last = all.at(-1);
    if (last?.span.end !== gap.span.start || last.kind !== gap.kind) all.push(gap);
    else all[all.length - 1] = { ...last, span: { start: last.span.start, end: gap.span.end } };
  }
  return all.map((gap) => {
    const span = `${isoOf(gap.span.start)} to ${isoOf(gap.span.end)}`;
    return { ...gap, reason: `The reviews ${axis} from ${span} cannot be read: ${gap.reason}` };
  });
}

/** The error of a window that leaves these gaps. */
export function incompleteError(gaps: readonly Gap[]): IncompleteError {
  const first = new Map(gaps.toReversed().map((gap) => [gap.kind, gap.reason]));
  const more = gaps.length - first.size;
  const reasons = [...first.values()].reverse();
  if (more > 0) reasons.push(`${counted(more, 'more span')} cannot be read for such reasons`);
  return new IncompleteError(reasons.join('. '), {
    hint:
      'Everything else of the period is in the warehouse. Later runs try these spans again; ' +
      'review-sync status lists them.',
  });
}

/** The sentence with which a run reports open gaps; undefined if no gap is open. */
export function gapsProblem(open: readonly Gap[]): string | undefined {
  const [first] = open;
  if (!first) return undefined;
  const what = counted(open.length, 'span of reviews is not read', 'spans of reviews are not read');
  return `${what}; see review-sync status. The first: ${first.reason}`;
}
