import { CronExpressionParser } from 'cron-parser';
import { offsetOf } from '../base/time/span.ts';

/**
 * When a schedule is due after a moment. Before clocks go back by half an hour (Lord Howe), or at a quarter to an hour
 * (Chatham), cron-parser throws, or names a moment that is over. From the one BullMQ would make no further run, from the
 * other run after run without a pause. Then the next run is computed as if the clocks did not change.
 */
export function nextRun({ pattern, timeZone }: { pattern: string; timeZone: string }, afterMs: number): Date {
  const inZone = (tz: string) => CronExpressionParser.parse(pattern, { tz, currentDate: afterMs }).next().toDate();
  try {
    const next = inZone(timeZone);
    if (next.getTime() > afterMs) return next;
  } catch {}
  return inZone(`UTC${offsetOf(afterMs / 1000, timeZone)}`);
}

/** For queues and workers of BullMQ, which would ask cron-parser themselves. */
export const settings = {
  repeatStrategy: (afterMs: number, { pattern = '', tz: timeZone = 'UTC' }: { pattern?: string; tz?: string }) =>
    nextRun({ pattern, timeZone }, afterMs).getTime(),
};
