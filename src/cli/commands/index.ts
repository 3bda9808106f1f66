import type { Command, Define, Traits } from '../command.ts';

/** All commands with a summary, in the order of `--help`. Each is in `<name>-command.ts`. */
export const summaries = {
  demo: 'all of review-sync, with an embedded Postgres and sample data; needs nothing installed',
  init: 'recognise the shop system by its tables, and write its queries and .env',
  migrate: 'bring the warehouse schema, and the queue’s on Postgres, up to date',
  doctor: 'check every connection, credential, time zone and shop query, and say what to correct; changes nothing',
  sync: 'one incremental run now, to its end; without a cursor yet, from the beginning',
  backfill: 'export every review, or push every order, created in a range of days',
  verify: 'compare service and warehouse review by review, or shop and service order by order',
  worker: 'run the jobs and their schedules until a signal stops it',
  serve: 'the webhook receiver, the status page, /metrics, /healthz and /readyz',
  status: 'watermarks, lag, coverage by month, queue depth, last runs, dead letters',
  runs: 'runs that have not ended and what they may do: list, end',
  'dead-letters': 'what could not be synced and why: list, show, retry, discard',
  explain: 'the life of one record',
  preview: 'what would be sent about one order, and how it compares to the service now; sends nothing',
  forget: 'mask the data of one customer that review-sync stores',
  export: 'write the data for analysts as Parquet files',
  'reference-service': 'a complete implementation of the service, for trying out, tests and benchmarks',
};

/** Loads a command with its systems. Only the called command pays for its modules. */
export async function loadCommand(name: string): Promise<Command> {
  const { traits, define }: { traits?: Traits; define: Define } = await import(`./${name}-command.ts`);
  return { ...traits, define };
}
