import v8 from 'node:v8';
import type { summaries } from './commands/index.ts';

/**
 * Keeps Node's memory near the memory in use, in commands that run long or every few minutes. By default the heap of an
 * export takes 50 % more. A small heap costs short commands a fifth more processor time.
 *
 * The young generation grows once, to 4 MB: an export with 1 MB takes 4.4 s of processor time, with 4 MB 3.8 s and as
 * much memory, with 8 MB 3.7 s and 30 MB more. Call this before the command loads: loading lets the generation grow
 * further, and it never shrinks.
 */
export function limitHeap([command = '']: readonly string[]): void {
  if (!(longCommands as readonly string[]).includes(command)) return;
  v8.setFlagsFromString('--heap-growing-percent=80');
  // V8 doubles the generation when enough objects have survived a collection. A limit given to Node may be lower.
  const surviving: object[][] = [];
  while (youngBytes() < youngBytesWanted && surviving.length < 40)
    surviving.push(Array.from({ length: 10_000 }, (_, n) => ({ n })));
  v8.setFlagsFromString('--semi-space-growth-factor=1');
}

const longCommands: readonly (keyof typeof summaries)[] = ['sync', 'backfill', 'verify', 'export', 'worker', 'serve'];

/** The generation has two halves of 4 MB. */
const youngBytesWanted = 8 * 1024 * 1024;

const youngBytes = () =>
  v8.getHeapSpaceStatistics().find(({ space_name }) => space_name === 'new_space')?.space_size ?? youngBytesWanted;
