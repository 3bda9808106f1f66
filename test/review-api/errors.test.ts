import { readFile } from 'node:fs/promises';
import { createServer } from 'node:https';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
import * as door from '../../src/review-api/index.ts';
import { type ReviewApi, ReviewApiError } from '../../src/review-api/index.ts';
import { client, failureOf, json, quick, secretToken, tinyService } from './tiny-service.ts';

const get = (api: ReviewApi) => api.reviews.get(5);
const add = (api: ReviewApi) => api.subOrders.create(5, { product_id: 3, price: '1' });

const words = { error: 'in its words' };

type Case = {
  reply?: { status?: number; body: unknown };
  call?: (api: ReviewApi) => Promise<unknown>;
  code: string;
  retryable: boolean;
  says: string;
  hint?: string;
};

const family: Record<string, Case> = {
  AuthenticationError: {
    ...{ reply: { status: 401, body: words }, code: 'authentication', retryable: false },
    says: 'the review service did not accept the credentials',
    hint: 'check the client id and the client secret, and that they belong to this service',
  },
  RefusedError: {
    ...{ reply: { status: 422, body: words }, code: 'refused', retryable: false },
    says: 'refused by the review service',
  },
  NotFoundError: {
    ...{ reply: { status: 404, body: words }, code: 'not-found', retryable: false },
    says: 'the review service has no such record',
  },
  LimitedError: {
    ...{ reply: { status: 429, body: words }, code: 'limited', retryable: true },
    says: 'the review service asks for fewer requests',
    hint: expect.stringMatching(/^lower the requests per second or .*REVIEW_API_REQUESTS_PER_SECOND, REVIEW_API_CONC/),
  },
  UnavailableError: {
    ...{ reply: { status: 503, body: words }, code: 'unavailable', retryable: true },
    says: 'the review service failed on this request',
  },
  MalformedResponseError: {
    ...{ reply: { body: [] }, code: 'malformed-response', retryable: true },
    says: 'the response is not what this request returns',
    hint: 'check whether the base address belongs to the service; a web site or a proxy may respond in its place',
  },
  UnknownOutcomeError: {
    ...{ reply: { status: 500, body: words }, call: add, code: 'unknown-outcome', retryable: false },
    says: 'sent, but it is not known whether the service carried it out',
    hint: 'read what the service holds before sending it again',
  },
};

test.each(Object.entries(family))(
  'a %s says what was sent, what was answered and whether to try again',
  async (name, { reply = { body: [] }, call = get, code, retryable, says, hint }) => {
    const service = await tinyService(() => reply);
    const error = await failureOf(call(client(service.url, { retry: { ...quick, attempts: 2 } })));
    expect(error).toBeInstanceOf(ReviewApiError);
    const { method, path } = service.calls()[0] ?? {};
    expect(error).toMatchObject({
      ...{ name, code: `review-api.${code}`, retryable, method, path, status: reply.status ?? 200, hint },
      detail: reply.body === words ? 'error: in its words' : expect.stringContaining('an object'),
      message: expect.stringContaining(`${method} ${path}: ${says} (status `),
    });
    expect(inspect(error, { showHidden: true, depth: 9 })).not.toContain(secretToken(1));
  },
);

test('every error of the family is exported by the door and has its case in this file', () => {
  const exported = Object.keys(door).filter((name) => name.endsWith('Error'));
  // The limit of pages has its cases in requests.test.ts.
  expect(exported.sort()).toEqual([...Object.keys(family), 'PageLimitError', 'ReviewApiError'].sort());
});

test('an invalid certificate is a permanent error, without a retry', async () => {
  const pem = await readFile(join(import.meta.dirname, 'self-signed.pem'));
  const server = createServer({ key: pem, cert: pem }, (_request, response) => response.end());
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const { port } = server.address() as { port: number };
  const api = client(`https://127.0.0.1:${port}`);
  const error = await failureOf(get(api));
  expect(error).toMatchObject({
    name: 'UnavailableError',
    retryable: false,
    detail: expect.stringMatching(/^this machine does not trust the certificate of the server .*DEPTH_ZERO/),
    hint: expect.stringContaining('NODE_EXTRA_CA_CERTS'),
  });
  expect(api.stats()).toMatchObject({ requests: 1, retries: 0 });
});

test('https to a server without TLS is permanent, and http to a TLS port has a hint', async () => {
  const service = await tinyService(() => json([]));
  const tls = client(service.url.replace('http:', 'https:'));
  expect(await failureOf(get(tls))).toMatchObject({
    retryable: false,
    detail: expect.stringMatching(/^the server does not speak TLS at this port \(ERR_SSL_WRONG_VERSION_NUMBER/),
    hint: expect.stringContaining('http://'),
  });
  expect(tls.stats()).toMatchObject({ requests: 1, retries: 0 });
  const behindTls = await tinyService(
    () => json([]),
    () => ({ status: 400, body: '<html>The plain HTTP request was sent to HTTPS port</html>' }),
  );
  expect(await failureOf(get(client(behindTls.url)))).toMatchObject({ hint: expect.stringContaining('https://') });
});
