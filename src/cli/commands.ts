import type { Command } from './command.ts';

/**
 * All commands, in the order in which `--help` shows them. Each is loaded when it is asked for: what only one of them
 * needs would cost every other one time at its start, and memory.
 */
const loaders: Readonly<Record<string, () => Promise<Command>>> = {
  demo: async () => (await import('./demo.ts')).demo,
  migrate: async () => (await import('./migrate.ts')).migrate,
  doctor: async () => (await import('./doctor.ts')).doctor,
  sync: async () => (await import('./sync.ts')).sync,
  backfill: async () => (await import('./backfill.ts')).backfill,
  verify: async () => (await import('./verify.ts')).verify,
  worker: async () => (await import('./worker.ts')).worker,
  serve: async () => (await import('./serve.ts')).serve,
  status: async () => (await import('./status.ts')).status,
  'dead-letters': async () => (await import('./dead-letters.ts')).deadLetters,
  explain: async () => (await import('./explain.ts')).explain,
  'reference-service': async () => (await import('./reference-service.ts')).referenceService,
};

/** The command that is called first in these arguments; all of them where none is, for help. */
export async function loadCommands(args: readonly string[]): Promise<Command[]> {
  const called = args.find((arg) => Object.hasOwn(loaders, arg));
  const wanted = called === undefined ? Object.values(loaders) : [loaders[called]];
  return Promise.all(wanted.flatMap((load) => (load ? [load()] : [])));
}
