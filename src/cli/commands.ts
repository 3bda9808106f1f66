import { backfill } from './backfill.ts';
import type { Command } from './command.ts';
import { deadLetters } from './dead-letters.ts';
import { demo } from './demo.ts';
import { doctor } from './doctor.ts';
import { explain } from './explain.ts';
import { migrate } from './migrate.ts';
import { referenceService } from './reference-service.ts';
import { serve } from './serve.ts';
import { status } from './status.ts';
import { sync } from './sync.ts';
import { verify } from './verify.ts';
import { worker } from './worker.ts';

/** All commands, in the order in which `--help` shows them. */
export const commands: readonly Command[] = [
  demo,
  migrate,
  doctor,
  sync,
  backfill,
  verify,
  worker,
  serve,
  status,
  deadLetters,
  explain,
  referenceService,
];
