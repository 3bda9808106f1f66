import { parseArgs } from 'node:util';
import { chapters, countsOf, linesOf, type Result, reasonOf, runChapters, summaryOf } from './run.ts';
import { cleanUp, openSession } from './session.ts';

const usage = `npm run conformance -- <url> --yes [options]

Compares a service with the spec, statement by statement.

  --client-id <id>      default: REVIEW_API_CLIENT_ID
  --client-secret <s>   default: REVIEW_API_CLIENT_SECRET, which the list of processes does not show
  --yes                 writes to the service; without it nothing is sent
  --section <name>      only this one, repeatable: ${chapters.map(({ name }) => name).join(', ')}
  --product-code <code> the product to review; default: a code of this run's own, which the service may keep
  --image-url <url>     an image that the service can load
  --wait <seconds>      for what the service does later; default 30

Exit status: 0 nothing differs, 1 something differs or could not be removed, 2 wrong usage, no token, or not reached.`;

/** Wrong usage; the message says what. */
class UsageError extends Error {}

/** @throws UsageError, or that of `parseArgs`, that names what is wrong. */
function readOptions(args: readonly string[], environment: NodeJS.ProcessEnv) {
  const text = (usual = '') => ({ type: 'string', default: usual }) as const;
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      'client-id': text(environment.REVIEW_API_CLIENT_ID),
      'client-secret': text(environment.REVIEW_API_CLIENT_SECRET),
      'product-code': text(),
      'image-url': text('https://images.example.com/conformance.png'),
      wait: text('30'),
      section: { type: 'string', multiple: true, default: [] as string[] },
      yes: { type: 'boolean', default: false },
    },
  });
  const { yes, wait, section: sections, 'client-id': clientId, 'client-secret': clientSecret } = values;
  const [url, ...rest] = positionals;
  if (url === undefined || rest.length > 0) throw new UsageError('expected one address of a service');
  if (!/^https?:$/.test(URL.parse(url)?.protocol ?? '')) throw new UsageError(`${url} is no http address`);
  if (!clientId || !clientSecret) throw new UsageError('--client-id and --client-secret are needed');
  const unknown = sections.find((name) => !chapters.some((chapter) => chapter.name === name));
  if (unknown !== undefined) throw new UsageError(`there is no section ${unknown}`);
  if (!/^\d{1,15}$/.test(wait)) throw new UsageError(`--wait is ${JSON.stringify(wait)}, expected a number`);
  const more = { productCode: values['product-code'] || undefined, imageUrl: values['image-url'] };
  return { url, clientId, clientSecret, sections, yes, waitSeconds: Number(wait), ...more };
}

const status = { conforms: 0, differs: 1, notRun: 2, interrupted: 130 } as const;

const writes = `It would write to the service, and remove again at the end, under codes that begin with "conf-":
  some 40 orders; the few that have sub-orders have no e-mail and no phone, and the others none
    but nobody@example.invalid and 000-0000-000x;
  some 20 categories, hidden but for those that test it, and 10 user grades;
  some 80 reviews of one or two products, most of them displayed while it runs.
A product that a review names may stay at the service: the spec shows no way to remove one (see --product-code).
Nothing was sent. Give --yes to do it.`;

/** The command's standard output and standard error, a line or more at a time. */
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
    if (options.yes) return await compare(options, output, signal);
    output.error(writes);
  } catch (error) {
    output.error(reasonOf(error));
    const isOfParseArgs = Object(error).code?.startsWith('ERR_PARSE_ARGS') === true;
    if (error instanceof UsageError || isOfParseArgs) output.error(`\n${usage}`);
  }
  return status.notRun;
}

async function compare(options: ReturnType<typeof readOptions>, output: Output, signal?: AbortSignal): Promise<number> {
  const session = await openSession({ ...options, signal });
  const chosen = chapters.filter(({ name }) => options.sections.length === 0 || options.sections.includes(name));
  const results: Result[] = [];
  let left: string[] = [];
  try {
    await runChapters(session, chosen, (result) => {
      output.log(linesOf(result, results.at(-1)).join('\n'));
      results.push(result);
    });
  } finally {
    const cleaned = await cleanUp(session);
    left = cleaned.left;
    if (cleaned.removed > 0) output.error(`Removed ${cleaned.removed} records that this run had made.`);
    for (const line of left) output.error(`could not be removed: ${line}`);
  }
  output.log(`\n${summaryOf(results)}`);
  if (signal?.aborted) return status.interrupted;
  return countsOf(results).differs > 0 || left.length > 0 ? status.differs : status.conforms;
}

if (import.meta.main) {
  const ended = new AbortController();
  // Not `once`: npm passes on the Ctrl-C that the terminal already sent, and the second one would leave everything
  // behind.
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(name, () => ended.abort());
  process.exitCode = await main(process.argv.slice(2), console, process.env, ended.signal);
}
