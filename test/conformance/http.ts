import { setTimeout as delay } from 'node:timers/promises';

/** Parameters of a query or a form; a list repeats its name. */
export type Params = Readonly<Record<string, string | number | readonly (string | number)[]>>;

export type Sent = {
  query?: Params | undefined;
  form?: Params | undefined;
  json?: unknown;
  signal?: AbortSignal | undefined;
};

export type Answer = {
  status: number;
  headers: Headers;
  /** Undefined where the text is empty or no JSON. */
  body: unknown;
  text: string;
  /** What was asked and answered, in one line, without the token. */
  told: string;
};

const timeoutMs = 30_000;
const mostRepeats = 10;
const longestWaitSeconds = 120;

/** One request; while the answer is 429, or 503 with `Retry-After`, it waits as told and asks again. */
export async function send(base: string, method: string, path: string, sent: Sent): Promise<Answer> {
  for (let repeats = 0; ; repeats += 1) {
    // A write that is under way is awaited, so that it is known what it made.
    const answer = await sendOnce(base, method, path, method === 'GET' ? sent : { ...sent, signal: undefined });
    const waitSeconds = waitOf(answer);
    if (waitSeconds === undefined || waitSeconds > longestWaitSeconds || repeats >= mostRepeats) return answer;
    await delay(waitSeconds * 1000, undefined, { signal: sent.signal });
  }
}

async function sendOnce(base: string, method: string, path: string, sent: Sent): Promise<Answer> {
  const { query, form, json, signal } = sent;
  const url = new URL(`${base.replace(/\/+$/, '')}${path}`);
  for (const [name, value] of pairsOf(query ?? {})) url.searchParams.append(name, value);
  const timeout = AbortSignal.timeout(timeoutMs);
  const response = await fetch(url, {
    method,
    redirect: 'manual',
    signal: signal ? AbortSignal.any([signal, timeout]) : timeout,
    ...(form && { body: new URLSearchParams(pairsOf(form)) }),
    ...(json !== undefined && { body: JSON.stringify(json), headers: { 'content-type': 'application/json' } }),
  });
  const text = await response.text();
  const { status, headers } = response;
  url.searchParams.delete('access_token');
  const told = `${method} ${path}${decodeURIComponent(url.search)} answered ${status} ${text.slice(0, 160)}`.trim();
  return { status, headers, text, body: parsed(text), told };
}

function pairsOf(params: Params): [string, string][] {
  return Object.entries(params).flatMap(([name, value]) =>
    (typeof value === 'object' ? value : [value]).map((one): [string, string] => [name, String(one)]),
  );
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function waitOf({ status, headers }: Answer): number | undefined {
  const told = headers.get('retry-after');
  if (status !== 429 && !(status === 503 && told !== null)) return undefined;
  const seconds = Number(told ?? 1);
  return Number.isNaN(seconds) ? 1 : Math.max(seconds, 1);
}
