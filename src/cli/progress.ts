import { Presets, SingleBar } from 'cli-progress';
import type { Terminal } from './command.ts';

export type Progress = {
  /** @param note what the work has brought so far. */
  update(done: number, total: number | undefined, note?: string): void;
  /** Says what is being waited for, once each time. */
  wait(reason: string, untilMs: number): void;
  stop(): void;
};

/** Lines in a log come at most this often; a bar is drawn by its own clock. */
const lineEveryMs = 2000;

/** A bar with rate and time left on a terminal; plain lines elsewhere. */
export function openProgress(terminal: Terminal, label: string, unit: string, now: () => number): Progress {
  return terminal.isTerminal ? bar(terminal, label, unit) : lines(terminal, label, unit, now);
}

function bar(terminal: Terminal, label: string, unit: string): Progress {
  const format = `${label} {bar} {value}/{total} ${unit} · {duration_formatted} · left {eta_formatted} {note}`;
  const single = new SingleBar(
    { format, hideCursor: true, clearOnComplete: false, etaBuffer: 30 },
    Presets.shades_classic,
  );
  let isShown = false;
  return {
    update(done, total, note = '') {
      if (total === undefined || total === 0) return;
      if (!isShown) single.start(total, done, { note });
      isShown = true;
      single.update(done, { note });
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
      terminal.say(`${line} · ${Math.round((saidMs - startedMs) / 1000)} s`);
    },
    wait: (reason, untilMs) => terminal.say(waiting(reason, untilMs)),
    stop: () => {},
  };
}

const waiting = (reason: string, untilMs: number) =>
  `waiting until ${new Date(untilMs).toISOString().slice(11, 19)} UTC: ${reason}`;
