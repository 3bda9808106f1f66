import { randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { type Answer, type Params, type Sent, send } from './http.ts';
import type { Ledger } from './ledger.ts';
import type { Receiver } from './receiver.ts';
import { CannotTell } from './statement.ts';

export type Settings = {
  url: string;
  clientId: string;
  clientSecret: string;
  /** Nothing but GET is sent, the token's request aside. */
  readOnly: boolean;
  /** A product that the reviews and sub-orders are of; default: a code of this run's own. */
  productCode?: string | undefined;
  /** An image that the service can load. */
  imageUrl: string;
  /** A type of additional information that the shop has. */
  optionTypeId: number;
  /** A review that a partner's API user did not make, and must not be able to delete. */
  foreignReviewId?: number | undefined;
  /** Takes the service's webhooks. */
  receiver?: Receiver | undefined;
  /** How long to wait for what the service does later. */
  waitSeconds: number;
  /** Ends the run. */
  signal?: AbortSignal | undefined;
};

/** One run against one service. */
export type Session = {
  settings: Settings;
  /** What the codes and names of all that this run makes begin with. */
  prefix: string;
  /** What was made and is to be removed. */
  ledger: Ledger;
  /** The service's clock, by the `Date` header of its first answer. */
  now(): Date;
  /** @throws CannotTell for a write in a run that only reads. */
  call(method: Method, path: string, sent?: Sending): Promise<Answer>;
  /** `POST /oauth/token` with exactly these fields. */
  requestToken(form: Params): Promise<Answer>;
  /** What `make` gives, made at most once in this run. */
  shared<T>(make: (session: Session) => Promise<T>): Promise<T>;
  /** Asks until it is there. @throws CannotTell after `waitSeconds`. */
  until<T>(what: string, ask: () => Promise<T | undefined>): Promise<T>;
};

/** `token: 'none'` leaves it out; `afterEnd` sends although the run was ended. */
export type Sending = Omit<Sent, 'signal'> & { token?: 'none'; afterEnd?: boolean };

export type Method = 'GET' | 'POST' | 'PATCH' | 'PUT' | 'DELETE';

const pollEveryMs = 250;
const mostRenewals = 1;

/** Gets a token. @throws Error where the service cannot be reached or gives none. */
export async function openSession(settings: Settings, ledger: Ledger): Promise<Session> {
  const { url, clientId, clientSecret, signal } = settings;
  const requestToken = (form: Params) => send(url, 'POST', '/oauth/token', { form, signal });
  const freshToken = async () => {
    const answer = await requestToken({
      grant_type: 'client_credentials',
      client_id: clientId,
      client_secret: clientSecret,
    });
    return { answer, token: tokenOf(answer) };
  };
  const first = await freshToken();
  let { token } = first;
  const skewMs = skewOf(first.answer);
  const made = new Map<unknown, Promise<unknown>>();

  const session: Session = {
    settings,
    prefix: `conf-${Date.now().toString(36)}${randomBytes(3).toString('hex')}`,
    ledger,
    now: () => new Date(Date.now() + skewMs),
    requestToken,
    async call(method, path, sent = {}) {
      refuseEmptyCode(path, sent);
      if (settings.readOnly && method !== 'GET') throw new CannotTell('needs a write; run without --read-only');
      const until = sent.afterEnd ? undefined : signal;
      if (sent.token === 'none') return send(url, method, path, { ...sent, signal: until });
      for (let renewals = 0; ; renewals += 1) {
        const answer = await send(url, method, path, { ...withToken(sent, token), signal: until });
        if (answer.status !== 401 || renewals >= mostRenewals) return answer;
        token = (await freshToken()).token;
      }
    },
    shared<T>(make: (session: Session) => Promise<T>): Promise<T> {
      const known = made.get(make) ?? make(session);
      made.set(make, known);
      return known as Promise<T>;
    },
    async until(what, ask) {
      const end = performance.now() + settings.waitSeconds * 1000;
      for (;;) {
        const found = await ask();
        if (found !== undefined) return found;
        if (performance.now() > end) throw new CannotTell(`${what} within ${settings.waitSeconds} s (--wait)`);
        await delay(pollEveryMs, undefined, { signal });
      }
    },
  };
  return session;
}

/** Without a code, or with an empty one, the same path may list, change or delete something else. */
function refuseEmptyCode(path: string, { query, form }: Sending): void {
  if (query?.code === '' || form?.code === '' || path.endsWith('/')) throw new Error(`an empty code or id: ${path}`);
}

/** "in the access_token parameter (form body or query string)" */
function withToken(sent: Sending, token: string): Sent {
  if (sent.form) return { ...sent, form: { ...sent.form, access_token: token } };
  return { ...sent, query: { ...sent.query, access_token: token } };
}

function tokenOf(answer: Answer): string {
  const body = answer.body;
  if (answer.status < 300 && typeof body === 'object' && body !== null && 'access_token' in body) {
    if (typeof body.access_token === 'string' && body.access_token !== '') return body.access_token;
  }
  throw new Error(`no access_token: ${answer.told}`);
}

function skewOf({ headers }: Answer): number {
  const date = Date.parse(headers.get('date') ?? '');
  return Number.isNaN(date) ? 0 : date - Date.now();
}
