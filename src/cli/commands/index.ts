import type { Command } from '../command.ts';

/** One line of `--help`, and where its command is. */
export type CommandEntry = {
  name: string;
  summary: string;
  /** Loads the command, with the systems that it works with: only the command that is called pays for them. */
  load: () => Promise<Command>;
};

/** All commands, in the order in which `--help` shows them. */
export const commands: readonly CommandEntry[] = [
  {
    name: 'demo',
    summary: 'all of review-sync, with an embedded Postgres and sample data; needs nothing installed',
    load: async () => (await import('./demo-command.ts')).demoCommand,
  },
  {
    name: 'init',
    summary: 'recognise the shop system by its tables, and write its queries and .env',
    load: async () => (await import('./init-command.ts')).initCommand,
  },
  {
    name: 'migrate',
    summary: 'bring the warehouse schema, and the queue’s on Postgres, up to date',
    load: async () => (await import('./migrate-command.ts')).migrateCommand,
  },
  {
    name: 'doctor',
    summary: 'check every connection, credential, time zone and shop query, and say what to correct; changes nothing',
    load: async () => (await import('./doctor-command.ts')).doctorCommand,
  },
  {
    name: 'sync',
    summary: 'one incremental run now, to its end; without a cursor yet, from the beginning',
    load: async () => (await import('./sync-command.ts')).syncCommand,
  },
  {
    name: 'backfill',
    summary: 'export every review, or push every order, created in a range of days',
    load: async () => (await import('./backfill-command.ts')).backfillCommand,
  },
  {
    name: 'verify',
    summary: 'compare service and warehouse review by review, or shop and service order by order',
    load: async () => (await import('./verify-command.ts')).verifyCommand,
  },
  {
    name: 'worker',
    summary: 'run the jobs and their schedules until a signal stops it',
    load: async () => (await import('./worker-command.ts')).workerCommand,
  },
  {
    name: 'serve',
    summary: 'the webhook receiver, the status page, /metrics, /healthz and /readyz',
    load: async () => (await import('./serve-command.ts')).serveCommand,
  },
  {
    name: 'status',
    summary: 'watermarks, lag, coverage by month, queue depth, last runs, dead letters',
    load: async () => (await import('./status-command.ts')).statusCommand,
  },
  {
    name: 'dead-letters',
    summary: 'what could not be synced and why: list, show, retry, discard',
    load: async () => (await import('./dead-letters-command.ts')).deadLettersCommand,
  },
  {
    name: 'explain',
    summary: 'the life of one record',
    load: async () => (await import('./explain-command.ts')).explainCommand,
  },
  {
    name: 'preview',
    summary: 'what would be sent about one order, and how it compares to the service now; sends nothing',
    load: async () => (await import('./preview-command.ts')).previewCommand,
  },
  {
    name: 'forget',
    summary: 'mask the data of one customer that review-sync stores',
    load: async () => (await import('./forget-command.ts')).forgetCommand,
  },
  {
    name: 'export',
    summary: 'write the data for analysts as Parquet files',
    load: async () => (await import('./export-command.ts')).exportCommand,
  },
  {
    name: 'reference-service',
    summary: 'a complete implementation of the service, for trying out, tests and benchmarks',
    load: async () => (await import('./reference-service-command.ts')).referenceServiceCommand,
  },
];
