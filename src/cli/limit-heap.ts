import v8 from 'node:v8';

/**
 * Keeps what Node holds of memory near what is in use, in commands that work for long or are called every few minutes. By default the heap
 * of an export takes half as much again, because pages of reviews live for a moment only. Called before the command loads, because
 * loading lets the young generation grow, which never shrinks again: 172 in place of 210 MB. Short commands leave V8 as it is, because a
 * small heap costs them a fifth more processor time (docs/decisions.md).
 *
 * An order is in progress for longer than a page: with a small young generation a push spends an eighth of its time on copying orders.
 */
export function limitHeap([command = '', what = '']: readonly string[]): void {
  if (!['sync', 'backfill', 'verify', 'worker', 'serve'].includes(command)) return;
  v8.setFlagsFromString('--heap-growing-percent=80');
  if (what !== 'orders') v8.setFlagsFromString('--semi-space-growth-factor=1');
}
