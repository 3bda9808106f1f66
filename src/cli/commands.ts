import { backfill } from './backfill.ts';
import type { Command } from './command.ts';
import { deadLetters } from './dead-letters.ts';
import { demo } from './demo.ts';
import { explain } from './explain.ts';
import { migrate } from './migrate.ts';
import { referenceService } from './reference-service.ts';
import { status } from './status.ts';
import { sync } from './sync.ts';
import { worker } from './worker.ts';

/** All commands, in the order in which `--help` shows them. */
export const commands: readonly Command[] = [
  demo,
  migrate,
  sync,
  backfill,
  worker,
  status,
  deadLetters,
  explain,
  referenceService,
];
