import { describe, expect, test } from 'vitest';
import { progressText } from '../../src/app/status-view.ts';
import { runsInProgress } from '../../src/server/page/page.ts';
import { runOf } from '../harness/world.ts';

const at = (hours: number) => new Date(Date.parse('2026-11-15T00:00:00Z') + hours * 3_600_000);

const run = runOf('backfill-reviews', { startedAt: at(0) });

describe('a run in progress', () => {
  const progress = (planned: number | undefined, ended: number, reviews: number) => ({
    run,
    steps: { planned, ended },
    unknown: undefined,
    isAttended: true,
    reviews,
  });

  test('is described with what is known of it', () => {
    const text = (one: ReturnType<typeof progress>, job = 'backfill-reviews') =>
      progressText({ ...one, run: { ...run, job } }, at(1));
    expect(text(progress(30, 10, 7200))).toBe(
      'For 1 h; 10 of 30 steps planned so far; 7,200 reviews, 120 per minute; about 2 h left.',
    );
    expect(text(progress(30, 0, 0))).toBe('For 1 h; 0 of 30 steps planned so far.');
    expect(text(progress(30, 10, 0), 'sync-orders')).toBe('For 1 h; 10 of 30 steps planned so far.');
    const left = (planned: number | undefined) => text({ ...progress(planned, 0, 0), isAttended: false });
    expect(left(undefined)).toBe('For 1 h; it waits for a worker.');
    expect(left(30)).toBe('For 1 h; 0 of 30 steps planned so far; it waits for a worker.');
    const waiting = { waitReason: 'GET /v1/reviews: 503', waitUntil: at(1.01) };
    expect(progressText({ ...progress(undefined, 0, 0), run: { ...run, ...waiting } }, at(1))).toBe(
      'For 1 h; waits until 01:00:36: GET /v1/reviews: 503; it is being planned.',
    );
    expect(progressText({ ...progress(undefined, 0, 0), run: { ...run, ...waiting } }, at(1.02))).not.toContain(
      'until',
    );
  });

  test('is listed with a bar', () => {
    expect(runsInProgress([], at(1)).text).toBe('<p>No run is in progress.</p>');
    const { text } = runsInProgress([progress(30, 10, 20)], at(1));
    expect(text).toContain('<progress max="30" value="10" aria-label="Steps of backfill-reviews">');
    expect(text).toContain('10 of 30 steps planned so far; 20 reviews, 0 per minute; about 2 h left.');
    expect(runsInProgress([progress(undefined, 0, 0)], at(1)).text).not.toContain('<progress');
  });
});
