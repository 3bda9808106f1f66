import { Presets, SingleBar } from 'cli-progress';
import { formatCount } from '../../base/counts.ts';
import { durationText } from '../../base/time/duration.ts';
import type { Terminal } from '../command.ts';

export type Progress = {
  /** @param note totals so far. */
  update(done: number, total: number | undefined, note?: string): void;
  /** Shows the reason of a wait, and its end where that is known. A reason is shown once until there is progress. */
  wait(reason: string, untilMs?: number): void;
  stop(): void;
};

/** Minimum time between lines of a log. The bar has a timer of its own. */
const lineEveryMs = 2000;

/** A bar with rate and time left on a terminal; plain lines elsewhere. */
export function openProgress(terminal: Terminal, label: string, unit: string, now = Date.now): Progress {
  const progress = terminal.isTerminal ? bar(terminal, label, unit, now) : lines(terminal, label, unit, now);
  const shown = new Set<string>();
  let [doneBefore, shownAtMs, shownUntilMs] = [0, Number.NEGATIVE_INFINITY, 0];
  return {
    ...progress,
    update(done, total, note) {
      if (done !== doneBefore) shown.clear();
      doneBefore = done;
      progress.update(done, total, note);
    },
    wait(reason, untilMs = Number.POSITIVE_INFINITY) {
      // While the service is down, each of many requests waits for a reason of its own.
      const isOneOfMany = now() - shownAtMs < lineEveryMs && untilMs < shownUntilMs + lineEveryMs;
      if (shown.has(reason) || isOneOfMany) return;
      shown.add(reason);
      [shownAtMs, shownUntilMs] = [now(), untilMs];
      progress.wait(reason, Number.isFinite(untilMs) ? untilMs : undefined);
    },
  };
}

function bar(terminal: Terminal, label: string, unit: string, now: () => number): Progress {
  const format = `${label} {bar} {value}/{total} ${unit} · {rate} · {duration_formatted}{left} {note}`;
  const single = new SingleBar({ format, hideCursor: true, clearOnComplete: false }, Presets.shades_classic);
  let isShown = false;
  const startedMs = now();
  return {
    update(done, total, note = '') {
      if (total === undefined || total === 0) return;
      const tookMs = now() - startedMs;
      const leftSeconds = ((total - done) * tookMs) / Math.max(1, done) / 1000;
      const left = done === 0 || done >= total ? '' : ` · left ${durationText(leftSeconds)}`;
      const shown = { note, left, rate: rateOf(done, tookMs) };
      if (!isShown) single.start(total, done, shown);
      isShown = true;
      single.update(done, shown);
    },
    wait: (reason, untilMs) => terminal.say(`\n${waiting(reason, untilMs)}`),
    stop: () => isShown && single.stop(),
  };
}

function lines(terminal: Terminal, label: string, unit: string, now: () => number): Progress {
  const startedMs = now();
  let lastMs = 0;
  let last = '';
  return {
    update(done, total, note = '') {
      const isOver = total !== undefined && done >= total;
      const line =
        total === undefined ? `${label}: planning` : `${label}: ${done}/${total} ${unit}${note ? ` · ${note}` : ''}`;
      if (line === last || (now() - lastMs < lineEveryMs && !isOver)) return;
      lastMs = now();
      last = line;
      const tookMs = lastMs - startedMs;
      terminal.say(`${line} · ${Math.round(tookMs / 1000)} s${done > 0 ? `, ${rateOf(done, tookMs)}` : ''}`);
    },
    wait: (reason, untilMs) => terminal.say(waiting(reason, untilMs)),
    stop: () => {},
  };
}

/** `180/s`, or where that is less than one, `22/min`. */
function rateOf(done: number, tookMs: number): string {
  const perSecond = (done * 1000) / Math.max(1, tookMs);
  return perSecond >= 1 ? `${formatCount(Math.round(perSecond))}/s` : `${Math.round(perSecond * 60)}/min`;
}

const waiting = (reason: string, untilMs?: number) =>
  untilMs === undefined
    ? `waiting: ${reason}`
    : `waiting until ${new Date(untilMs).toISOString().slice(11, 19)} UTC: ${reason}`;
