import * as v from 'valibot';
import { reviewDeps } from '../src/app/deps.ts';
import { readWindow } from '../src/reviews/read/read-window.ts';
import type { StepJob } from '../src/runs/define-run.ts';
import { recount } from '../src/warehouse/bi/recount.ts';
import { axes } from '../src/warehouse/reviews/coverage.ts';
import { parsePayload } from './payload.ts';

/** A window, and what to look for in it in addition to reviews. */
const shape = v.object({
  axis: v.picklist(axes),
  span: v.object({ start: v.number(), end: v.number() }),
  findAbsent: v.exactOptional(v.literal(true)),
});

const recountEveryMs = 60_000;

export type ReadWindow = v.InferOutput<typeof shape>;

/** Step: brings the reviews of one window into the warehouse. */
export const readWindowStep: StepJob<ReadWindow> = {
  name: 'read-window',
  parse: (payload) => parsePayload(shape, payload),
  async run(app, { axis, span, findAbsent = false }, { run, signal }) {
    const deps = reviewDeps(app, signal);
    const counts = await readWindow(deps, { runId: run.id, window: { axis, span }, findAbsent });
    // A backfill takes hours, so the views of bi follow it. A run of less than a minute counts once, at its end.
    if (app.now().getTime() - run.startedAt.getTime() >= recountEveryMs)
      await recount(app.warehouse.db, { atMostEveryMs: recountEveryMs });
    return counts;
  },
};
