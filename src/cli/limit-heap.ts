import v8 from 'node:v8';

/**
 * Keeps the memory that Node holds near what is in use, in commands that work for long or are called every few minutes:
 * by default the heap of an export takes half as much again, because pages of reviews live for a moment only. Called
 * before the command loads, because loading lets the young generation grow, and it never shrinks. Short commands leave
 * V8 as it is: a small heap costs them a fifth more processor time.
 */
export function limitHeap([command = '']: readonly string[]): void {
  if (!['sync', 'backfill', 'verify', 'export', 'worker', 'serve'].includes(command)) return;
  v8.setFlagsFromString('--heap-growing-percent=80');
  v8.setFlagsFromString('--semi-space-growth-factor=1');
}
