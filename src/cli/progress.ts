import { Presets, SingleBar } from 'cli-progress';
import type { Terminal } from './command.ts';

export type Progress = {
  /** @param note what the work has brought so far. */
  update(done: number, total: number | undefined, note?: string): void;
  /** Says what is being waited for, once each time, and until when where that is known. */
  wait(reason: string, untilMs: number | undefined): void;
  stop(): void;
};

/** Lines in a log come at most this often; a bar is drawn by its own clock. */
const lineEveryMs = 2000;

/** A bar with rate and time left on a terminal; plain lines elsewhere. */
export function openProgress(terminal: Terminal, label: string, unit: string, now: () => number): Progress {
  return terminal.isTerminal ? bar(terminal, label, unit, now) : lines(terminal, label, unit, now);
}

function bar(terminal: Terminal, label: string, unit: string, now: () => number): Progress {
  const format = `${label} {bar} {value}/{total} ${unit} · {rate}/s · {duration_formatted} · left {eta_formatted} {note}`;
  const single = new SingleBar(
    { format, hideCursor: true, clearOnComplete: false, etaBuffer: 30 },
    Presets.shades_classic,
  );
  let isShown = false;
  const startedMs = now();
  return {
    update(done, total, note = '') {
      if (total === undefined || total === 0) return;
      const rate = rateOf(done, now() - startedMs);
      if (!isShown) single.start(total, done, { note, rate });
      isShown = true;
      single.update(done, { note, rate });
    },
    wait: (reason, untilMs) => terminal.say(`\n${waiting(reason, untilMs)}`),
    stop: () => isShown && single.stop(),
  };
}

function lines(terminal: Terminal, label: string, unit: string, now: () => number): Progress {
  const startedMs = now();
  let saidMs = 0;
  let said = '';
  return {
    update(done, total, note = '') {
      const isOver = total !== undefined && done >= total;
      const line =
        total === undefined ? `${label}: planning` : `${label}: ${done}/${total} ${unit}${note ? ` · ${note}` : ''}`;
      if (line === said || (now() - saidMs < lineEveryMs && !isOver)) return;
      saidMs = now();
      said = line;
      const tookMs = saidMs - startedMs;
      terminal.say(`${line} · ${Math.round(tookMs / 1000)} s${done > 0 ? `, ${rateOf(done, tookMs)}/s` : ''}`);
    },
    wait: (reason, untilMs) => terminal.say(waiting(reason, untilMs)),
    stop: () => {},
  };
}

const rateOf = (done: number, tookMs: number) => ((done * 1000) / Math.max(1, tookMs)).toPrecision(2);

const waiting = (reason: string, untilMs: number | undefined) =>
  untilMs === undefined
    ? `waiting: ${reason}`
    : `waiting until ${new Date(untilMs).toISOString().slice(11, 19)} UTC: ${reason}`;
