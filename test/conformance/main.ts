import { parseArgs } from 'node:util';
import { chapters } from './chapters.ts';
import { countsOf, documentOf, linesOf, type Result, runChapters, summaryOf } from './run.ts';
import { cleanUp, openSession, type Session, type Settings } from './session.ts';

type Options = Settings & {
  yes: boolean;
  json: boolean;
  sections: readonly string[];
};

const usage = `npm run conformance -- <url> --yes [options]

Compares a service with the spec, statement by statement.

  --client-id <id>      default: REVIEW_API_CLIENT_ID
  --client-secret <s>   default: REVIEW_API_CLIENT_SECRET, which the list of processes does not show
  --yes                 writes to the service; without it nothing is sent
  --section <name>      only this one, repeatable: ${chapters.map(({ name }) => name).join(', ')}
  --json                one JSON document on standard output
  --product-code <code> the product to review; default: a code of this run's own, which the service may keep
  --image-url <url>     an image that the service can load
  --wait <seconds>      for what the service does later; default 30

Exit status: 0 nothing differs, 1 something differs or could not be removed, 2 wrong usage, no token, or not reached.`;

/** Wrong usage; the message says what. */
class UsageError extends Error {}

/** @throws UsageError that names what is wrong. */
function readOptions(args: readonly string[], environment: NodeJS.ProcessEnv): Options {
  const { values, positionals } = parsed(args);
  const [url, ...rest] = positionals;
  if (url === undefined || rest.length > 0) throw new UsageError('expected one address of a service');
  if (!/^https?:$/.test(URL.parse(url)?.protocol ?? '')) throw new UsageError(`${url} is no http address`);
  const { section = [] } = values;
  const clientId = values['client-id'] ?? environment.REVIEW_API_CLIENT_ID;
  const clientSecret = values['client-secret'] ?? environment.REVIEW_API_CLIENT_SECRET;
  if (!clientId || !clientSecret) throw new UsageError('--client-id and --client-secret are needed');
  const unknown = section.find((name) => !chapters.some((chapter) => chapter.name === name));
  if (unknown !== undefined) throw new UsageError(`there is no section ${unknown}`);
  return {
    url,
    clientId,
    clientSecret,
    sections: section,
    yes: values.yes ?? false,
    json: values.json ?? false,
    productCode: values['product-code'] || undefined,
    imageUrl: values['image-url'] ?? 'https://images.example.com/conformance.png',
    waitSeconds: secondsOf(values.wait ?? '30'),
  };
}

function parsed(args: readonly string[]) {
  const [text, flag] = [{ type: 'string' }, { type: 'boolean' }] as const;
  const texts = { 'client-id': text, 'client-secret': text, 'product-code': text, 'image-url': text, wait: text };
  const others = { yes: flag, json: flag, section: { type: 'string', multiple: true } } as const;
  try {
    return parseArgs({ args: [...args], allowPositionals: true, options: { ...texts, ...others } });
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error));
  }
}

function secondsOf(value: string): number {
  if (/^\d{1,15}$/.test(value)) return Number(value);
  throw new UsageError(`--wait is ${JSON.stringify(value)}, expected a number`);
}

const status = { conforms: 0, differs: 1, notRun: 2, interrupted: 130 } as const;

const writes = `It would write to the service, and remove again at the end, under codes that begin with "conf-":
  some 40 orders; the few that have sub-orders have no e-mail and no phone, and the others none
    but nobody@example.invalid and 000-0000-000x;
  some 20 categories, hidden but for those that test it, and 10 user grades;
  some 80 reviews of one or two products, most of them displayed while it runs.
A product that a review names may stay at the service: the spec shows no way to remove one (see --product-code).
Nothing was sent. Give --yes to do it.`;

/** Where the command writes: standard output and standard error, a line or more at a time. */
export type Output = Record<'log' | 'error', (text: string) => unknown>;

/** The command with these arguments. Returns its exit status. */
export async function main(
  args: readonly string[],
  output: Output,
  environment: NodeJS.ProcessEnv = {},
  signal?: AbortSignal,
): Promise<number> {
  try {
    if (args.includes('--help')) {
      output.log(usage);
      return status.conforms;
    }
    const options = readOptions(args, environment);
    if (options.yes) return await compare({ ...options, signal }, output);
    output.error(writes);
  } catch (error) {
    const cause = error instanceof Error && error.cause instanceof Error ? ` (${error.cause.message})` : '';
    output.error(error instanceof Error ? `${error.message}${cause}` : String(error));
    if (error instanceof UsageError) output.error(`\n${usage}`);
  }
  return status.notRun;
}

async function compare(options: Options, output: Output): Promise<number> {
  const session = await openSession(options);
  const chosen = chapters.filter(({ name }) => options.sections.length === 0 || options.sections.includes(name));
  const results: Result[] = [];
  let left: string[] = [];
  try {
    await runChapters(session, chosen, (result) => {
      if (!options.json) output.log(linesOf(result, results.at(-1)).join('\n'));
      results.push(result);
    });
  } finally {
    left = await tidy(session, output);
  }
  const counts = countsOf(results);
  output.log(
    options.json ? documentOf({ ...options, prefix: session.prefix, results, left }) : `\n${summaryOf(results)}`,
  );
  if (options.signal?.aborted) return status.interrupted;
  return counts.differs > 0 || left.length > 0 ? status.differs : status.conforms;
}

/** Removes what was made, and tells what is left. */
async function tidy(session: Session, output: Output): Promise<string[]> {
  const { removed, left } = await cleanUp(session);
  if (removed > 0) output.error(`Removed ${removed} records that this run had made.`);
  for (const line of left) output.error(`could not be removed: ${line}`);
  return left;
}

if (import.meta.main) {
  const ended = new AbortController();
  // Not `once`: npm passes on the Ctrl-C that the terminal already sent, and the second would leave everything behind.
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(name, () => ended.abort());
  process.exitCode = await main(process.argv.slice(2), console, process.env, ended.signal);
}
