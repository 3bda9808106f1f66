import type { App } from '../src/app.ts';
import type { StepJob } from '../src/queue/job.ts';
import { exportWindow } from '../src/reviews/export-window.ts';
import type { Window } from '../src/reviews/window.ts';
import { number, object, oneOf } from './payload.ts';

/** Step: brings the reviews of one window into the warehouse. */
export const readWindow: StepJob<App, Window> = {
  name: 'read-window',
  parse(payload) {
    const window = object(payload);
    const span = object(window.span);
    return {
      axis: oneOf(window, 'axis', ['created', 'updated']),
      span: { start: number(span, 'start'), end: number(span, 'end') },
    };
  },
  run: (app, window, { runId, signal }) =>
    exportWindow(
      {
        reviews: app.api.reviews,
        timeZone: app.config.api.timeZone,
        warehouse: app.warehouse,
        now: app.now,
        signal,
      },
      runId,
      window,
    ),
};
