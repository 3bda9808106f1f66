import type { App } from '../src/app/app.ts';
import { reviewDeps } from '../src/app/deps.ts';
import type { StepJob } from '../src/queue/job.ts';
import { exportWindow } from '../src/reviews/export-window.ts';
import type { Window } from '../src/reviews/read/window.ts';
import { foldChanges } from '../src/warehouse/bi/aggregates.ts';
import { number, object, oneOf } from './payload.ts';

/** A window, and what to look for in it beside the reviews. */
export type ReadWindow = Window & { findLate?: true; findAbsent?: true };

/** Step: brings the reviews of one window into the warehouse. */
export const readWindow: StepJob<App, ReadWindow> = {
  name: 'read-window',
  parse(payload) {
    const window = object(payload);
    const span = object(window.span);
    return {
      axis: oneOf(window, 'axis', ['created', 'updated']),
      span: { start: number(span, 'start'), end: number(span, 'end') },
      ...(window.findLate === true && { findLate: true }),
      ...(window.findAbsent === true && { findAbsent: true }),
    };
  },
  async run(app, { axis, span, findLate = false, findAbsent = false }, { runId, signal }) {
    const deps = reviewDeps(app, signal);
    const counts = await exportWindow(deps, { runId, window: { axis, span }, findLate, findAbsent });
    // A backfill takes hours; until its changes are folded, they make the views of bi slower.
    await foldChanges(app.warehouse.db);
    return counts;
  },
};
