import type { App } from '../src/app.ts';
import type { StepJob } from '../src/queue/job.ts';
import { exportWindow } from '../src/reviews/export-window.ts';
import type { Window } from '../src/reviews/window.ts';
import type { Second } from '../src/span.ts';
import { findRun } from '../src/warehouse/runs.ts';
import { number, object, oneOf } from './payload.ts';

/** A window, and what to look for in it beside the reviews. */
export type ReadWindow = Window & { lateBefore?: Second; findAbsent?: true };

/** Step: brings the reviews of one window into the warehouse. */
export const readWindow: StepJob<App, ReadWindow> = {
  name: 'read-window',
  parse(payload) {
    const window = object(payload);
    const span = object(window.span);
    return {
      axis: oneOf(window, 'axis', ['created', 'updated']),
      span: { start: number(span, 'start'), end: number(span, 'end') },
      ...(window.lateBefore !== undefined && { lateBefore: number(window, 'lateBefore') }),
      ...(window.findAbsent === true && { findAbsent: true }),
    };
  },
  async run(app, { axis, span, lateBefore, findAbsent = false }, { runId, signal }) {
    const run = await findRun(app.warehouse.db, runId);
    return exportWindow(
      {
        reviews: app.api.reviews,
        timeZone: app.config.api.timeZone,
        warehouse: app.warehouse,
        lanes: app.lanes,
        signal,
      },
      {
        runId,
        since: run?.startedAt ?? app.now(),
        window: { axis, span },
        lateBefore: lateBefore === undefined ? undefined : new Date(lateBefore * 1000),
        findAbsent,
      },
    );
  },
};
