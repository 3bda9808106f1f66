import { onTestFinished } from 'vitest';
import { startReferenceService } from '../../../src/sandbox/reference-service/index.ts';
import type { ReferenceServiceOptions } from '../../../src/sandbox/reference-service/service.ts';
import { createDatabase } from '../../harness/database.ts';

/** What a response holds, as far as the tests look into it. */
// biome-ignore lint/suspicious/noExplicitAny: answers are judged by expectations, not by types
type Answer = { status: number; body: any };

/** A service on a database of its own until the test is over; `call` sends JSON with a good token. */
export async function runService(
  options: Partial<ReferenceServiceOptions> = {},
  prepare?: (databaseUrl: string) => Promise<void>,
) {
  const databaseUrl = await createDatabase('service');
  await prepare?.(databaseUrl);
  const service = await startReferenceService({ checkAnswers: true, ...options, databaseUrl });
  onTestFinished(service.close);
  let token: Promise<string> | undefined;
  const call = async (method: string, path: string, json?: object): Promise<Answer> => {
    token ??= tokenOf(service.url);
    const headers = { 'content-type': 'application/json' };
    const body = json && { headers, body: JSON.stringify(json) };
    const response = await fetch(`${service.url}${path}?access_token=${await token}`, { method, ...body });
    const text = await response.text();
    return { status: response.status, body: text === '' ? undefined : JSON.parse(text) };
  };
  return { service, databaseUrl, url: service.url, call };
}

export async function tokenOf(url: string): Promise<string> {
  const client = { grant_type: 'client_credentials', client_id: 'demo', client_secret: 'demo' };
  const response = await fetch(`${url}/oauth/token`, { method: 'POST', body: new URLSearchParams(client) });
  if (response.status !== 200) throw new Error(`no token: ${response.status} ${await response.text()}`);
  return ((await response.json()) as { access_token: string }).access_token;
}

export const aReview = { product_code: 'P-1', message: 'Good.', score: 5, user_code: 'kim', user_name: 'Kim' };
