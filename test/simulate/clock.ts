import { chmodSync, globSync, mkdtempSync, renameSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/**
 * The virtual clock. The library libfaketime, preloaded into Node and Postgres, subtracts the seconds in a file from the clock
 * of the calendar. Timers and timeouts run on the monotonic clock and stay real. The program under test is unchanged and
 * does not know.
 *
 * Virtual time always lies in the past: inside a signal handler Postgres sees the real time, and a timeout of a virtual
 * future would never expire there.
 */
export type Clock = {
  /** Lets the calendar jump to this moment and run on from there. */
  set(at: Date): void;
};

/** The variables under which a process and its children live in virtual time. @throws Error where the library is missing. */
export function virtualTimeEnvironment(): Record<string, string> {
  const [library] = globSync('/usr/lib/*/faketime/libfaketimeMT.so.1');
  if (library === undefined) {
    throw new Error('The virtual clock needs libfaketime. On Debian and Ubuntu: apt-get install libfaketime');
  }
  // Postgres may run as another user and must be able to read it.
  const folder = mkdtempSync(join(tmpdir(), 'review-sync-clock-'));
  chmodSync(folder, 0o755);
  return {
    LD_PRELOAD: library,
    FAKETIME_TIMESTAMP_FILE: join(folder, 'clock'),
    FAKETIME_NO_CACHE: '1',
    FAKETIME_DONT_FAKE_MONOTONIC: '1',
  };
}

/** The clock of this process, which was started with `virtualTimeEnvironment`. */
export function openClock(): Clock {
  const file = process.env.FAKETIME_TIMESTAMP_FILE ?? '';
  let behindSeconds = 0;
  return {
    set(at) {
      const realMs = Date.now() + behindSeconds * 1000;
      behindSeconds = Math.round((realMs - at.getTime()) / 1000);
      if (behindSeconds < 0) throw new Error(`${at.toISOString()} lies in the future; virtual time must not`);
      writeFileSync(`${file}.new`, `-${behindSeconds}\n`, { mode: 0o644 });
      renameSync(`${file}.new`, file);
    },
  };
}
