import { formatCount } from '../../base/counts.ts';
import { durationText } from '../../base/time/duration.ts';
import type { Terminal } from '../command.ts';

export type Progress = ReturnType<typeof openProgress>;

/** Minimum time between lines of a log. */
export const lineEveryMs = 2000;

/** One line with rate and time left: drawn again and again with a bar on a terminal, written every two seconds elsewhere. */
export function openProgress(terminal: Terminal, label: string, unit: string, now = Date.now) {
  const startedMs = now();
  const shown = new Set<string>();
  let [doneBefore, shownAtMs, shownUntilMs] = [0, Number.NEGATIVE_INFINITY, 0];
  let [writtenMs, written] = [Number.NEGATIVE_INFINITY, ''];
  let isDrawn = false;
  let wait: { text: string; untilMs: number } | undefined;
  return {
    /** @param note totals so far. */
    update(done: number, total: number | undefined, note = ''): void {
      if (done !== doneBefore) shown.clear();
      doneBefore = done;
      if (total === 0) return;
      const tookMs = now() - startedMs;
      const text = stateOf(done, total, unit) + (note && ` · ${note}`);
      const time = timeOf(done, total, tookMs);
      if (terminal.isTerminal) {
        const waits = wait && wait.untilMs > now() ? ` · ${wait.text}` : '';
        terminal.draw(`${label}: ${total === undefined ? '' : barOf(done / total)}${text} · ${time}${waits}`);
        isDrawn = true;
        return;
      }
      const isOver = total !== undefined && done >= total;
      if (text === written || (now() - writtenMs < lineEveryMs && !isOver)) return;
      [writtenMs, written] = [now(), text];
      terminal.say(`${label}: ${text} · ${time}`);
    },
    /** Shows the reason of a wait, and its end if that is known. A reason is shown once until there is progress. */
    wait(reason: string, untilMs = Number.POSITIVE_INFINITY): void {
      const isKnown = Number.isFinite(untilMs);
      const until = isKnown ? ` until ${new Date(untilMs).toISOString().slice(11, 19)} UTC` : '';
      const text = `waiting${until}: ${reason}`;
      if (isKnown) wait = { text, untilMs };
      // While the service is down, each of many requests waits for a reason of its own.
      const isOneOfMany = now() - shownAtMs < lineEveryMs && untilMs < shownUntilMs + lineEveryMs;
      if (shown.has(reason) || isOneOfMany) return;
      shown.add(reason);
      [shownAtMs, shownUntilMs] = [now(), untilMs];
      isDrawn = false;
      terminal.say(text);
    },
    stop(): void {
      if (isDrawn) terminal.say('');
      isDrawn = false;
    },
  };
}

/** If the total is not known, a run is planning or counts what it finds. */
function stateOf(done: number, total: number | undefined, unit: string): string {
  if (total !== undefined) return `${done}/${total} ${unit}`;
  return done === 0 ? 'planning' : `${done} ${unit}`;
}

/** The time so far, the rate, and how long the rest takes at that rate. */
function timeOf(done: number, total: number | undefined, tookMs: number): string {
  const rate = done > 0 ? `, ${rateOf(done, tookMs)}` : '';
  const leftMs = done > 0 && total !== undefined ? ((total - done) * tookMs) / done : 0;
  return `${durationText(tookMs / 1000)}${rate}${leftMs > 0 ? `, ${durationText(leftMs / 1000)} left` : ''}`;
}

const barWidth = 30;
const barOf = (share: number) => {
  const filled = Math.min(barWidth, Math.round(share * barWidth));
  return `${'█'.repeat(filled)}${'░'.repeat(barWidth - filled)} `;
};

/** `180/s`, or if that is less than one, `22/min`. */
function rateOf(done: number, tookMs: number): string {
  const perSecond = (done * 1000) / Math.max(1, tookMs);
  return perSecond >= 1 ? `${formatCount(Math.round(perSecond))}/s` : `${Math.round(perSecond * 60)}/min`;
}
