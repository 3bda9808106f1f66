import v8 from 'node:v8';

/**
 * Keeps what Node holds of memory near what is in use: pages of reviews live for a moment only, and by default the heap
 * of an export grows by half for a tenth of speed (docs/benchmarks.md). Meant for the start of a process.
 */
export function keepHeapSmall(): void {
  v8.setFlagsFromString('--heap-growing-percent=80');
  v8.setFlagsFromString('--semi-space-growth-factor=1');
}
