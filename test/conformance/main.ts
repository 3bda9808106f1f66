import { chapters } from './chapters.ts';
import { cleanUp } from './ledger.ts';
import { type Options, readOptions, UsageError, usage } from './options.ts';
import { type Receiver, startReceiver } from './receiver.ts';
import { countsOf, documentOf, linesOf, summaryOf } from './report.ts';
import { type Result, runChapters } from './run.ts';
import { openSession, type Session } from './session.ts';

const status = { conforms: 0, differs: 1, notRun: 2, interrupted: 130 } as const;

const writes = `It would write to the service, and remove again at the end, under codes that begin with "conf-":
  some 60 orders; the few that have sub-orders have no e-mail and no phone, and the others none
    but nobody@example.invalid and 000-0000-000x;
  some 50 categories, hidden but for those that test it, and 40 user grades;
  some 90 reviews of one or two products, most of them displayed while it runs.
A product that a review names may stay at the service: the spec shows no way to remove one (see --product-code).
Nothing was sent. Give --yes to do it, or --read-only to read what is there.`;

async function main(args: readonly string[]): Promise<number> {
  if (args.includes('--help')) {
    console.log(usage);
    return status.conforms;
  }
  const options = readOptions(args, process.env);
  if (!options.yes && !options.readOnly) {
    console.error(writes);
    return status.notRun;
  }
  const ended = new AbortController();
  // Not `once`: npm passes on the Ctrl-C that the terminal already sent, and the second would leave everything behind.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => ended.abort());
  const { receiverPort } = options;
  const receiver = receiverPort === undefined ? undefined : await startReceiver(receiverPort);
  try {
    return await compare(options, receiver, ended.signal);
  } finally {
    await receiver?.close();
  }
}

async function compare(options: Options, receiver: Receiver | undefined, signal: AbortSignal): Promise<number> {
  const session = await openSession({ ...options, receiver, signal }, []);
  const chosen = chapters.filter(({ name }) => options.sections.length === 0 || options.sections.includes(name));
  const results: Result[] = [];
  let left: string[] = [];
  try {
    await runChapters(session, chosen, (result) => {
      if (!options.json) console.log(linesOf(result, results.at(-1)).join('\n'));
      results.push(result);
    });
  } finally {
    left = await tidy(session);
  }
  const counts = countsOf(results);
  console.log(
    options.json ? documentOf({ ...options, prefix: session.prefix, results, left }) : `\n${summaryOf(results)}`,
  );
  if (signal.aborted) return status.interrupted;
  return counts.differs > 0 || left.length > 0 ? status.differs : status.conforms;
}

/** Removes what was made, and tells what is left. */
async function tidy(session: Session): Promise<string[]> {
  const { removed, left } = await cleanUp(session);
  if (removed > 0) console.error(`Removed ${removed} records that this run had made.`);
  for (const line of left) console.error(`could not be removed: ${line}`);
  return left;
}

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  const cause = error instanceof Error && error.cause instanceof Error ? ` (${error.cause.message})` : '';
  console.error(error instanceof Error ? `${error.message}${cause}` : error);
  if (error instanceof UsageError) console.error(`\n${usage}`);
  process.exitCode = status.notRun;
}
