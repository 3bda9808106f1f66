import { onTestFinished } from 'vitest';
import { type ReferenceService, startReferenceService } from '../../../src/sandbox/reference-service/index.ts';
import type { ReferenceServiceOptions } from '../../../src/sandbox/reference-service/service.ts';
import { createDatabase } from '../../harness/database.ts';

/** What a JSON body may hold, as far as the tests look into it. */
// biome-ignore lint/suspicious/noExplicitAny: answers are judged by expectations, not by types
type Body = any;

export type Answer = { status: number; headers: Headers; body: Body };

export type Sent = {
  query?: Record<string, string | number>;
  json?: unknown;
  form?: string;
  headers?: Record<string, string>;
  /** Default: the token of this service. */
  token?: string | null;
};

export type Running = { service: ReferenceService; databaseUrl: string; url: string; call: Call };
type Call = (method: string, path: string, sent?: Sent) => Promise<Answer>;

/** A service on a database of its own, or on a given one, until the test is over; `call` sends with a good token. */
export async function runService(
  options: Partial<ReferenceServiceOptions> = {},
  prepare?: (databaseUrl: string) => Promise<void>,
): Promise<Running> {
  const databaseUrl = options.databaseUrl ?? (await createDatabase('service'));
  await prepare?.(databaseUrl);
  const started = await startReferenceService({ checkAnswers: true, ...options, databaseUrl });
  let closed: Promise<void> | undefined;
  // A test may close it before its end.
  const close = () => {
    closed ??= started.close();
    return closed;
  };
  const service = { ...started, close };
  onTestFinished(close);
  let token: Promise<string> | undefined;
  const ownToken = () => {
    token ??= tokenOf(service.url, options);
    return token;
  };
  const call: Call = async (method, path, sent = {}) =>
    send(service.url, method, path, { ...sent, token: sent.token === undefined ? await ownToken() : sent.token });
  return { service, databaseUrl, url: service.url, call };
}

export async function tokenOf(url: string, options: Partial<ReferenceServiceOptions> = {}): Promise<string> {
  const { clientId = 'demo', clientSecret = 'demo' } = options;
  const form = `grant_type=client_credentials&client_id=${clientId}&client_secret=${clientSecret}`;
  const { status, body } = await send(url, 'POST', '/oauth/token', { form, token: null });
  if (status !== 200) throw new Error(`no token: ${status} ${JSON.stringify(body)}`);
  return body.access_token;
}

async function send(base: string, method: string, path: string, sent: Sent): Promise<Answer> {
  const url = new URL(path, base);
  for (const [name, value] of Object.entries(sent.query ?? {})) url.searchParams.set(name, String(value));
  if (sent.token) url.searchParams.set('access_token', sent.token);
  const headers = new Headers(sent.headers);
  if (sent.json !== undefined) headers.set('content-type', 'application/json');
  if (sent.form !== undefined) headers.set('content-type', 'application/x-www-form-urlencoded');
  const payload = sent.form ?? (sent.json === undefined ? undefined : JSON.stringify(sent.json));
  const response = await fetch(url, { method, headers, ...(payload !== undefined && { body: payload }) });
  const text = await response.text();
  return { status: response.status, headers: response.headers, body: text === '' ? undefined : JSON.parse(text) };
}

export const anOrder = {
  code: 'A-1',
  created_at: '2024-01-05T09:00:00+09:00',
  total_price: 23_500,
  user_code: 'kim',
  user_name: 'Kim',
  user_phone: '010-0000-0000',
  user_email: 'kim@example.com',
};

export const aReview = { product_code: 'P-1', message: 'Good.', score: 5, user_code: 'kim', user_name: 'Kim' };
