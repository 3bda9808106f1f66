import { CronExpressionParser } from 'cron-parser';
import { offsetOf, offsetSecondsOf } from '../base/time/span.ts';

/**
 * When a schedule is due after a moment: by the offset of that moment, unless the clocks change until then. If they do, and by
 * whole hours, cron-parser decides. Before clocks go back by half an hour (Lord Howe) it searches for half a second and
 * throws, and at a quarter to an hour (Chatham) it names a moment that is over. From the one BullMQ would make no further
 * run, from the other run after run without a pause.
 */
export function nextRun({ pattern, timeZone }: { pattern: string; timeZone: string }, afterMs: number): Date {
  const inZone = (tz: string) => CronExpressionParser.parse(pattern, { tz, currentDate: afterMs }).next().toDate();
  const byOffset = inZone(`UTC${offsetOf(afterMs / 1000, timeZone)}`);
  const offsetAt = (ms: number) => offsetSecondsOf(Math.floor(ms / 1000), timeZone);
  const shiftSeconds = offsetAt(byOffset.getTime()) - offsetAt(afterMs);
  if (shiftSeconds === 0 || shiftSeconds % 3600 !== 0) return byOffset;
  try {
    const next = inZone(timeZone);
    if (next.getTime() > afterMs) return next;
  } catch {}
  return byOffset;
}

/** For queues and workers of BullMQ, which would ask cron-parser themselves. */
export const settings = {
  repeatStrategy: (afterMs: number, { pattern = '', tz: timeZone = 'UTC' }: { pattern?: string; tz?: string }) =>
    nextRun({ pattern, timeZone }, afterMs).getTime(),
};
