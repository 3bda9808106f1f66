import { CronExpressionParser } from 'cron-parser';
import { offsetOf, offsetSecondsOf } from '../base/time/span.ts';

/**
 * When a schedule is next due after `afterMs`. Uses the zone's offset at `afterMs`, unless clocks change by whole hours
 * before the next run: then cron-parser decides. Before clocks go back by half an hour (Lord Howe),
 * cron-parser searches for half a second and throws, and BullMQ would schedule no further run. At a quarter to an hour
 * (Chatham), it returns a time in the past, and BullMQ would start run after run without a pause.
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

/** For queues and workers of BullMQ, which would otherwise call cron-parser. */
export const settings = {
  repeatStrategy: (afterMs: number, { pattern = '', tz: timeZone = 'UTC' }: { pattern?: string; tz?: string }) =>
    nextRun({ pattern, timeZone }, afterMs).getTime(),
};
