import { formatCount } from '../../base/counts.ts';
import { durationText } from '../../base/time/duration.ts';
import type { Wait } from '../../review-api/index.ts';
import type { Terminal } from '../command.ts';

export type Progress = ReturnType<typeof openProgress>;

export const lineEveryMs = 2000;

/** While a service is down, many requests wait. A wait gets a line if it ends this much later than that of the last line. */
const longerWaitMs = 60_000;

/** A line with rate and time left. A terminal shows it with a bar, and replaces it. Others get it every two seconds. */
export function openProgress(terminal: Terminal, label: string, unit: string, now = Date.now) {
  const startedMs = now();
  let written = { text: '', atMs: Number.NEGATIVE_INFINITY };
  let isDrawn = false;
  /** The wait that ends last. The drawn line shows it until its end. */
  let wait: Wait = { reason: '', untilMs: Number.NEGATIVE_INFINITY };
  let saidUntilMs = Number.NEGATIVE_INFINITY;

  /** Says that a wait has begun. @param untilMs until when one line for all waits is enough. */
  function sayWait(text: string, untilMs: number): void {
    if (untilMs < saidUntilMs + longerWaitMs) return;
    saidUntilMs = untilMs;
    isDrawn = false;
    terminal.say(text);
  }
  return {
    update(done: number, total: number | undefined, note = ''): void {
      if (total === 0) return;
      const text = stateOf(done, total, unit) + (note && ` · ${note}`);
      const time = timeOf(done, total, now() - startedMs);
      if (terminal.isTerminal) {
        const waits = wait.untilMs > now() ? ` · ${waitText(wait)}` : '';
        terminal.draw(`${label}: ${total === undefined ? '' : barOf(done / total)}${text} · ${time}${waits}`);
        isDrawn = true;
        return;
      }
      const isOver = total !== undefined && done >= total;
      if (text === written.text || (now() - written.atMs < lineEveryMs && !isOver)) return;
      written = { text, atMs: now() };
      terminal.say(`${label}: ${text} · ${time}`);
    },
    wait(next: Wait): void {
      if (next.untilMs > wait.untilMs) wait = next;
      sayWait(waitText(next), next.untilMs);
    },
    /** Something is tried again at once. */
    retry: (reason: string) => sayWait(`waiting: ${reason}`, now()),
    stop(): void {
      if (isDrawn) terminal.say('');
      isDrawn = false;
    },
  };
}

const waitText = ({ reason, untilMs }: Wait) =>
  `waiting until ${new Date(untilMs).toISOString().slice(11, 19)} UTC: ${reason}`;

/** If the total is unknown, a run is planning, or counts the records that it finds. */
function stateOf(done: number, total: number | undefined, unit: string): string {
  if (total !== undefined) return `${done}/${total} ${unit}`;
  return done === 0 ? 'planning' : `${done} ${unit}`;
}

function timeOf(done: number, total: number | undefined, tookMs: number): string {
  const rate = done > 0 ? `, ${formatCount(Math.round((done * 60_000) / Math.max(1, tookMs)))}/min` : '';
  const leftMs = done > 0 && total !== undefined ? ((total - done) * tookMs) / done : 0;
  return `${durationText(tookMs / 1000)}${rate}${leftMs > 0 ? `, ${durationText(leftMs / 1000)} left` : ''}`;
}

const barWidth = 30;
const barOf = (share: number) => {
  const filled = Math.min(barWidth, Math.round(share * barWidth));
  return `${'█'.repeat(filled)}${'░'.repeat(barWidth - filled)} `;
};
