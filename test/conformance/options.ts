import { parseArgs } from 'node:util';
import { chapters } from './chapters.ts';

export type Options = {
  url: string;
  clientId: string;
  clientSecret: string;
  readOnly: boolean;
  yes: boolean;
  json: boolean;
  sections: readonly string[];
  productCode: string | undefined;
  imageUrl: string;
  optionTypeId: number;
  foreignReviewId: number | undefined;
  receiverPort: number | undefined;
  waitSeconds: number;
};

export const usage = `npm run conformance -- <url> (--read-only | --yes) [options]

Compares a service with the spec, statement by statement.

  --client-id <id>      default: REVIEW_API_CLIENT_ID
  --client-secret <s>   default: REVIEW_API_CLIENT_SECRET, which the list of processes does not show
  --yes                 writes to the service; without it or --read-only nothing is sent
  --read-only           sends no write but the token's request; what needs one is "cannot tell"
  --section <name>      only this one, repeatable: ${chapters.map(({ name }) => name).join(', ')}
  --json                one JSON document on standard output
  --product-code <code> the product to review; default: a code of this run's own, which the service may keep
  --image-url <url>     an image that the service can load
  --option-type <id>    a type of additional information that the shop has; default 1
  --foreign-review <id> of a partner account: a review that it did not make. Where the service lets it, it is deleted
  --receiver-port <n>   listens there for the service's webhooks, on all addresses
  --wait <seconds>      for what the service does later; default 30

Exit status: 0 nothing differs, 1 something differs or could not be removed, 2 wrong usage, no token, or not reached.`;

/** Wrong usage; the message says what. */
export class UsageError extends Error {}

/** @throws UsageError that names what is wrong. */
export function readOptions(args: readonly string[], environment: NodeJS.ProcessEnv): Options {
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
    readOnly: values['read-only'] ?? false,
    yes: values.yes ?? false,
    json: values.json ?? false,
    productCode: values['product-code'] || undefined,
    imageUrl: values['image-url'] ?? 'https://images.example.com/conformance.png',
    optionTypeId: integer('option-type', values['option-type']) ?? 1,
    foreignReviewId: integer('foreign-review', values['foreign-review']),
    receiverPort: integer('receiver-port', values['receiver-port']),
    waitSeconds: integer('wait', values.wait) ?? 30,
  };
}

function parsed(args: readonly string[]) {
  const text = { type: 'string' } as const;
  const flag = { type: 'boolean' } as const;
  try {
    return parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        'client-id': text,
        'client-secret': text,
        'product-code': text,
        'image-url': text,
        'option-type': text,
        'foreign-review': text,
        'receiver-port': text,
        wait: text,
        'read-only': flag,
        yes: flag,
        json: flag,
        section: { type: 'string', multiple: true },
      },
    });
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error));
  }
}

function integer(name: string, value: string | undefined): number | undefined {
  if (value === undefined) return undefined;
  if (/^\d{1,15}$/.test(value)) return Number(value);
  throw new UsageError(`--${name} is ${JSON.stringify(value)}, expected a number`);
}
