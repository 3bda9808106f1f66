import { chmodSync, globSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { shiftDates } from './virtual-date.ts';

/**
 * The virtual clock. It is behind the calendar by whole seconds, in Postgres by the library libfaketime, in Node by
 * another `Date`. Node could be preloaded with libfaketime, too, but the library reads its file for every date: a run
 * would take a fifth more processor time. Timers and timeouts run on the monotonic clock and stay real. The program
 * under test is unchanged and does not know.
 *
 * Virtual time always lies in the past: inside a signal handler Postgres sees the real time, and a timeout of a virtual
 * future would never expire there.
 */
export type Clock = {
  /** Lets the calendar jump to this moment and run on from there. */
  set(at: Date): void;
  /** Variables of a process of Node's that lives in the time of this moment. */
  environment(): Record<string, string>;
};

/** A clock that is not shifted. */
export const realClock: Clock = { set: () => {}, environment: () => ({}) };

export type VirtualClock = Clock & {
  /** Starts a server in virtual time. Its processes read the clock whenever they need it. */
  startInVirtualTime<T>(start: () => Promise<T>): Promise<T>;
  close(): void;
};

/** Shifts the clock of this process. @throws Error where libfaketime is missing. */
export function openClock(): VirtualClock {
  const [library] = globSync('/usr/lib/*/faketime/libfaketimeMT.so.1');
  if (library === undefined) {
    throw new Error('The virtual clock needs libfaketime. On Debian and Ubuntu: apt-get install libfaketime');
  }
  // Postgres may run as another user and must be able to read it.
  const folder = mkdtempSync(join(tmpdir(), 'review-sync-clock-'));
  chmodSync(folder, 0o755);
  const file = join(folder, 'clock');
  let behindSeconds = 0;
  shiftDates(() => behindSeconds * 1000);
  return {
    set(at) {
      const realMs = Date.now() + behindSeconds * 1000;
      behindSeconds = Math.round((realMs - at.getTime()) / 1000);
      if (behindSeconds < 0) throw new Error(`${at.toISOString()} lies in the future; virtual time must not`);
      writeFileSync(`${file}.new`, `-${behindSeconds}\n`, { mode: 0o644 });
      renameSync(`${file}.new`, file);
    },
    environment: () => ({
      NODE_OPTIONS: `--import ${pathToFileURL(join(import.meta.dirname, 'virtual-date.ts')).href}`,
      VIRTUAL_TIME_BEHIND_MS: String(behindSeconds * 1000),
    }),
    async startInVirtualTime(start) {
      const variables = {
        LD_PRELOAD: library,
        FAKETIME_TIMESTAMP_FILE: file,
        FAKETIME_NO_CACHE: '1',
        FAKETIME_DONT_FAKE_MONOTONIC: '1',
      };
      // The server is a child of this process and inherits them.
      Object.assign(process.env, variables);
      try {
        return await start();
      } finally {
        for (const name of Object.keys(variables)) delete process.env[name];
      }
    },
    close: () => rmSync(folder, { recursive: true, force: true }),
  };
}
