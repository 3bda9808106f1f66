import { randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { CannotTell, isSuccess } from './statement.ts';

/** Parameters of a query or a form; a list repeats its name. */
export type Params = Readonly<Record<string, string | number | readonly (string | number)[]>>;
export type Method = 'GET' | 'POST' | 'PATCH' | 'PUT' | 'DELETE';
/** `token: 'none'` leaves it out; `afterEnd` sends although the run was ended. */
export type Sent = { query?: Params; form?: Params; token?: 'none'; afterEnd?: boolean };

export type Answer = {
  status: number;
  headers: Headers;
  /** Undefined if the text is empty or no JSON. */
  body: unknown;
  text: string;
  /** What was asked and answered, in one line, without the token. */
  summary: string;
};

export type Settings = {
  url: string;
  clientId: string;
  clientSecret: string;
  /** A product that the reviews and sub-orders are of; default: a code of this run's own. */
  productCode?: string | undefined;
  /** An image that the service can load. */
  imageUrl: string;
  /** How long to wait for what the service does later. */
  waitSeconds: number;
  /** Ends the run. */
  signal?: AbortSignal | undefined;
};

/** One run against one service. */
export type Session = Awaited<ReturnType<typeof openSession>>;

const timeoutMs = 30_000;
const mostRepeats = 10;
const longestWaitSeconds = 120;
const pollEveryMs = 250;

/** Gets a token. @throws Error if the service cannot be reached or gives none. */
export async function openSession(settings: Settings) {
  const { url, clientId, clientSecret, signal } = settings;
  /** While the answer is 429, or 503 with `Retry-After`, it waits as the service says and asks again. */
  const send = async (method: Method, path: string, sent: Sent): Promise<Answer> => {
    const until = sent.afterEnd ? undefined : signal;
    for (let repeats = 0; ; repeats += 1) {
      // A write that is under way is awaited, so that it is known what the write made.
      const answer = await sendOnce(url, method, path, sent, method === 'GET' ? until : undefined);
      const waitSeconds = waitOf(answer);
      if (waitSeconds === undefined || waitSeconds > longestWaitSeconds || repeats >= mostRepeats) return answer;
      await delay(waitSeconds * 1000, undefined, { signal: until });
    }
  };
  const requestToken = (form: Params) => send('POST', '/oauth/token', { form });
  const freshToken = async () => {
    const client = { client_id: clientId, client_secret: clientSecret };
    const answer = await requestToken({ grant_type: 'client_credentials', ...client });
    return { answer, token: tokenOf(answer) };
  };
  let { answer: first, token } = await freshToken();
  const date = Date.parse(first.headers.get('date') ?? '');
  const skewMs = Number.isNaN(date) ? 0 : date - Date.now();

  return {
    settings,
    /** The beginning of the codes and names of all that this run makes. */
    prefix: `conf-${Date.now().toString(36)}${randomBytes(3).toString('hex')}`,
    /** All that was made and is to be removed. */
    ledger: [] as Made[],
    /** The service's clock, by the `Date` header of its first answer. */
    now: () => new Date(Date.now() + skewMs),
    /** `POST /oauth/token` with exactly these fields. */
    requestToken,
    async call(method: Method, path: string, sent: Sent = {}): Promise<Answer> {
      // Without a code, or with an empty one, the same path may list, change or delete something else.
      if (sent.query?.code === '' || sent.form?.code === '' || path.endsWith('/'))
        throw new Error(`an empty code or id: ${path}`);
      if (sent.token === 'none') return send(method, path, sent);
      // "in the access_token parameter (form body or query string)"
      const where = sent.form ? 'form' : 'query';
      const ask = () => send(method, path, { ...sent, [where]: { ...sent[where], access_token: token } });
      const answer = await ask();
      if (answer.status !== 401) return answer;
      token = (await freshToken()).token;
      return ask();
    },
    /** Asks until it is there. @throws CannotTell after `waitSeconds`. */
    async until<T>(what: string, ask: () => Promise<T | undefined>): Promise<T> {
      const end = performance.now() + settings.waitSeconds * 1000;
      for (;;) {
        const found = await ask();
        if (found !== undefined) return found;
        if (performance.now() > end) throw new CannotTell(`${what} within ${settings.waitSeconds} s (--wait)`);
        await delay(pollEveryMs, undefined, { signal });
      }
    },
  };
}

async function sendOnce(base: string, method: Method, path: string, { query, form }: Sent, signal?: AbortSignal) {
  const url = new URL(`${base.replace(/\/+$/, '')}${path}`);
  for (const [name, value] of pairsOf(query ?? {})) url.searchParams.append(name, value);
  const timeout = AbortSignal.timeout(timeoutMs);
  const response = await fetch(url, {
    method,
    redirect: 'manual',
    signal: signal ? AbortSignal.any([signal, timeout]) : timeout,
    ...(form && { body: new URLSearchParams(pairsOf(form)) }),
  });
  const text = await response.text();
  const { status, headers } = response;
  url.searchParams.delete('access_token');
  const summary = `${method} ${path}${decodeURIComponent(url.search)} answered ${status} ${text.slice(0, 160)}`.trim();
  return { status, headers, text, body: parsedJson(text), summary };
}

const pairsOf = (params: Params): [string, string][] =>
  Object.entries(params).flatMap(([name, value]) =>
    (typeof value === 'object' ? value : [value]).map((one): [string, string] => [name, String(one)]),
  );

function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function waitOf({ status, headers }: Answer): number | undefined {
  const retryAfter = headers.get('retry-after');
  if (status !== 429 && !(status === 503 && retryAfter !== null)) return undefined;
  const seconds = Number(retryAfter ?? 1);
  return Number.isNaN(seconds) ? 1 : Math.max(seconds, 1);
}

function tokenOf({ status, body, summary }: Answer): string {
  const { access_token: token } = Object(body);
  if (status < 300 && typeof token === 'string' && token !== '') return token;
  throw new Error(`no access_token: ${summary}`);
}

/**
 * The kinds of records that can be made. Deleting goes in this order, so that no record is deleted along with another.
 */
const kinds = ['reviews', 'orders', 'categories', 'user_grades'] as const;
export type Kind = (typeof kinds)[number];

/** Entered before it is made, so that it can be removed even if the answer is lost. */
export type Made = { kind: Kind; code: string; id?: number };

/**
 * Removes all that was made, newest first. Works after the run was ended, too.
 *
 * @returns how many were removed (not counting those that a check deleted itself), and those that could not be removed,
 *   a line each.
 */
export async function cleanUp(session: Session): Promise<{ removed: number; left: string[] }> {
  const left: string[] = [];
  let removed = 0;
  for (const kind of kinds) {
    for (const made of session.ledger.filter((one) => one.kind === kind).reverse()) {
      const name = `${kind} ${made.id ?? ''} ${made.code}`.replace('  ', ' ');
      try {
        const answer = await remove(session, made);
        if (isSuccess(answer)) removed += 1;
        else if (answer.status !== 404) left.push(`${name}: ${answer.summary}`);
      } catch (error) {
        left.push(`${name}: ${error instanceof Error ? error.message : String(error)}`);
      }
    }
  }
  session.ledger.length = 0;
  return { removed, left };
}

async function remove(session: Session, { kind, code, id }: Made): Promise<Answer> {
  if (id !== undefined) return session.call('DELETE', `/v1/${kind}/${id}`, { afterEnd: true });
  // Grades have no code. With an empty code the same path may delete something else.
  if (kind === 'user_grades' || !code.startsWith(session.prefix)) throw new Error('no answer has shown its id');
  return session.call('DELETE', `/v1/${kind}`, { query: { code }, afterEnd: true });
}
