import type { IncomingMessage, ServerResponse } from 'node:http';
import { onTestFinished } from 'vitest';
import {
  openReviewApi,
  type ReviewApi,
  type ReviewApiOptions,
  type Session,
  type SessionStore,
} from '../../src/review-api/index.ts';
import { serve } from '../harness/proxy.ts';

/** A request as the tiny service saw it; `params` are those of query and form together. */
export type Seen = Record<'method' | 'path' | 'query' | 'body', string> & { params: URLSearchParams } & Pick<
    IncomingMessage,
    'headers'
  >;

export type Reply =
  | { status?: number; headers?: Record<string, string | string[]>; body?: unknown }
  | 'lost'
  | 'half'
  | 'trickling';

/** Answers resource requests; `nth` counts those with the same method and path, from 1. */
export type Answering = (seen: Seen, nth: number) => Reply | Promise<Reply>;

export const secretToken = (number: number) => `tok-${number}-5ecre7`;

/** Quick repeats: the decisions are those of production, only shorter. */
export const quick = { baseDelayMs: 1, maxDelayMs: 2 };

/** A service of a few lines, for one test: gives out tokens, records what it saw, answers as told. */
export async function tinyService(answering: Answering, tokenAnswering: Answering = token) {
  const seen: Seen[] = [];
  const { url, close } = await serve(async (request, response) => {
    const at = await read(request);
    seen.push(at);
    const nth = seen.filter((other) => other.method === at.method && other.path === at.path).length;
    const isToken = at.path.endsWith('/oauth/token');
    send(response, await (isToken ? tokenAnswering : answering)(at, nth));
  });
  onTestFinished(close);
  const tokenRequests = () => seen.filter((at) => at.path.endsWith('/oauth/token')).length;
  const calls = () => seen.filter((at) => !at.path.endsWith('/oauth/token'));
  return { url, seen, calls, tokenRequests };
}

export function client(baseUrl: string, options: Partial<ReviewApiOptions> = {}): ReviewApi {
  const credentials = { clientId: 'the-app', clientSecret: 'the-s3cret-of-the-app' };
  const api = openReviewApi({ baseUrl, ...credentials, concurrency: 20, retry: quick, ...options });
  onTestFinished(() => api.close());
  return api;
}

export const json = (body: unknown, headers: Record<string, string | string[]> = {}): Reply => ({ body, headers });

export const order = (id: number, more: object = {}) => ({ id, code: `A-${id}`, sub_orders: [], ...more });

export const january = { start_datetime: '2024-01-01 00:00:00', end_datetime: '2024-01-31 23:59:59' } as const;

/** The order that a request names by its id. */
export const orderOf = ({ path }: Seen) => json(order(Number(path.split('/').at(-1))));

/** The error that ends a call; what the call brings where it succeeds. */
// biome-ignore lint/suspicious/noExplicitAny: errors are judged by expectations, not by types
export const failureOf = (call: Promise<any>) => call.catch((reason) => reason);

/**
 * A store as of several processes: one change at a time. It keeps JSON, which has null for what is not there or
 * Infinity.
 */
export function sharedStore(): SessionStore & { session: Session } {
  let turn: Promise<unknown> = Promise.resolve();
  const store = {
    session: {} as Session,
    get: async () => (Object.keys(store.session).length > 0 ? store.session : JSON.parse('null')),
    set: async (changed: Session) => {
      store.session = JSON.parse(JSON.stringify({ ...store.session, ...changed }));
    },
    alone<T>(work: (kept: SessionStore) => Promise<T>): Promise<T> {
      const done = turn.then(() => work(store));
      turn = done.catch(() => {});
      return done;
    },
  };
  return store;
}

function token(_seen: Seen, nth: number): Reply {
  return json({ access_token: secretToken(nth) });
}

async function read(request: IncomingMessage): Promise<Seen> {
  let body = '';
  for await (const piece of request.setEncoding('utf8')) body += piece;
  const [path = '', query = ''] = (request.url ?? '').split('?');
  const params = new URLSearchParams([query, body].filter((part) => part !== '').join('&'));
  return { method: request.method ?? '', path, query, body, params, headers: request.headers };
}

function send(response: ServerResponse, reply: Reply): void {
  if (reply === 'lost') {
    response.socket?.destroy();
    return;
  }
  if (reply === 'half') {
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': '1000' });
    response.write('[{"id": 1, "mess', () => response.socket?.destroy());
    return;
  }
  if (reply === 'trickling') {
    const trickle = setInterval(() => response.write(' '), 50);
    response.on('close', () => clearInterval(trickle));
    return;
  }
  const { status = 200, headers = {}, body } = reply;
  const isWritten = typeof body === 'string' || Buffer.isBuffer(body);
  const text = body === undefined ? '' : isWritten ? body : JSON.stringify(body);
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(status === 204 ? undefined : text);
}
