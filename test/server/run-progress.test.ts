import { expect, test } from 'vitest';
import type { RunInProgress } from '../../src/app/status-report.ts';
import { progressText } from '../../src/app/status-view.ts';
import { runOf } from '../harness/world.ts';

const at = (hours: number) => new Date(Date.parse('2026-11-15T00:00:00Z') + hours * 3_600_000);
const begun = { run: runOf('backfill-reviews', { startedAt: at(0) }), isAttended: true, reviews: 0 };
const of = (planned: number | undefined, ended = 0) => ({ ...begun, steps: { planned, ended } });
const orders = runOf('sync-orders', { startedAt: at(0) });
const waits = (until: number) => ({ ...begun.run, waitReason: 'GET /v1/reviews: 503', waitUntil: at(until) });

test.each<[RunInProgress, string]>([
  [{ ...of(30, 10), reviews: 7200 }, '10 of 30 steps planned so far; 7,200 reviews, 120 per minute; about 2 h left.'],
  [of(30), '0 of 30 steps planned so far.'],
  [{ ...of(30, 10), run: orders }, '10 of 30 steps planned so far.'],
  [{ ...of(undefined), isAttended: false }, 'it waits for a worker.'],
  [{ ...of(30), isAttended: false }, '0 of 30 steps planned so far; it waits for a worker.'],
  [{ ...begun, steps: undefined }, 'the queue does not say how far it is.'],
  [{ ...of(undefined), run: waits(1.01) }, 'waits until 01:00:36: GET /v1/reviews: 503; it is being planned.'],
  [{ ...of(undefined), run: waits(1) }, 'it is being planned.'],
])('a run in progress is described with what is known of it: %#', (run, text) => {
  expect(progressText(run, at(1))).toBe(`For 1 h; ${text}`);
});
