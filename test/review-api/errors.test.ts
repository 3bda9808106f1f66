import { createServer } from 'node:https';
import { inspect } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
import * as door from '../../src/review-api/index.ts';
import { type ReviewApi, ReviewApiError } from '../../src/review-api/index.ts';
import { client, json, quick, type Reply, secretToken, tinyService } from './tiny-service.ts';

const get = (api: ReviewApi) => api.reviews.get(5);
const add = (api: ReviewApi) => api.subOrders.create(5, { product_id: 3, price: '1' });

const pem = (what: string, text: string) => `-----BEGIN ${what}-----\n${text}\n-----END ${what}-----\n`;

/** Made for this test, good for a hundred years, and vouched for by nobody. */
const selfSigned = {
  key: pem(
    'PRIVATE KEY',
    `MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgpdTgaRk1qAt25n2Q54z8qDMJJqNzSG8YVn9GKT/W+VWhRANCAAS3SYAhy+yi4HXP
UYqdlXMrEdMhwkDIIkScm5uB+b1bvGLPIUA1n4DkyTVUiV6UK3QFucy2CyjN9i2SfRflRGMH`,
  ),
  cert: pem(
    'CERTIFICATE',
    `MIIBfjCCASWgAwIBAgIUanKvsmu5EQVeLNwrmDVaCAhtjqYwCgYIKoZIzj0EAwIwFDESMBAGA1UEAwwJMTI3LjAuMC4xMCAXDTI2MTEyMTA2NDky
OFoYDzIxMjYxMDI4MDY0OTI4WjAUMRIwEAYDVQQDDAkxMjcuMC4wLjEwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAAS3SYAhy+yi4HXPUYqdlXMr
EdMhwkDIIkScm5uB+b1bvGLPIUA1n4DkyTVUiV6UK3QFucy2CyjN9i2SfRflRGMHo1MwUTAdBgNVHQ4EFgQU1pQe+EMDZoyAKEoYKVmlp+tzwtYw
HwYDVR0jBBgwFoAU1pQe+EMDZoyAKEoYKVmlp+tzwtYwDwYDVR0TAQH/BAUwAwEB/zAKBggqhkjOPQQDAgNHADBEAiB6/wNrBnE/OD+vOfpEVjkt
8jHusW2+Rif/SLedVHlv0gIga9hvibeTIlPzsQgR03DEMOxKUw0FOhD+bngxzLJD3Xs=`,
  ),
};

const words = { error: 'in its words' };

/** What the service answers, what is called, and the error that must come: its name, code and whether to try again. */
const family: [reply: Reply, call: (api: ReviewApi) => Promise<unknown>, name: string, code: string, again: boolean][] =
  [
    [{ status: 401, body: words }, get, 'AuthenticationError', 'authentication', false],
    [{ status: 422, body: words }, get, 'RefusedError', 'refused', false],
    [{ status: 404, body: words }, get, 'NotFoundError', 'not-found', false],
    [{ status: 429, body: words }, get, 'LimitedError', 'limited', true],
    [{ status: 503, body: words }, get, 'UnavailableError', 'unavailable', true],
    [{ body: [] }, get, 'MalformedResponseError', 'malformed-response', true],
    [{ status: 500, body: words }, add, 'UnknownOutcomeError', 'unknown-outcome', false],
  ];

/** What happened, and the next step where there is one. */
const says: Record<string, [what: string, hint?: string]> = {
  AuthenticationError: [
    'the review service did not accept the credentials',
    'check the client id and the client secret, and that they belong to this service',
  ],
  RefusedError: ['refused by the review service'],
  NotFoundError: ['the review service has no such record'],
  LimitedError: [
    'the review service asks for fewer requests',
    expect.stringMatching(/^lower the requests per second or .*REVIEW_API_REQUESTS_PER_SECOND, REVIEW_API_CONCURRENCY/),
  ],
  UnavailableError: ['the review service failed on this request'],
  MalformedResponseError: [
    'the response is not what this request returns',
    'check whether the base address belongs to the service; a web site or a proxy may respond in its place',
  ],
  UnknownOutcomeError: [
    'sent, but it is not known whether the service carried it out',
    'read what the service holds before sending it again',
  ],
};

test.each(family)(
  '%o has its own error, with what was sent, what was answered and whether to try again',
  async (reply, call, name, code, retryable) => {
    const service = await tinyService(() => reply);
    const error = await call(client(service.url, { retry: { ...quick, attempts: 2 } })).catch(
      (reason: unknown) => reason,
    );
    expect(error).toBeInstanceOf(ReviewApiError);
    const {
      method,
      path,
      status = 200,
      body,
    } = { ...service.calls()[0], ...(reply as { status?: number; body: unknown }) };
    expect(error).toMatchObject({ name, code: `review-api.${code}`, retryable, method, path, status });
    expect(error).toMatchObject({
      detail: body === words ? 'error: in its words' : expect.stringContaining('an object'),
    });
    const [what, hint] = says[name] ?? [];
    expect(error).toMatchObject({ message: expect.stringContaining(`${method} ${path}: ${what} (status `), hint });
    expect(inspect(error, { showHidden: true, depth: 9 })).not.toContain(secretToken(1));
  },
);

test('every error of the family is exported by the door and has its case in this file', () => {
  const exported = Object.keys(door).filter((name) => name.endsWith('Error'));
  const tested = family.map(([, , name]) => name);
  // The limit of pages has its cases in review-list.test.ts.
  expect(exported.sort()).toEqual([...tested, 'PageLimitError', 'ReviewApiError'].sort());
});

test('an invalid certificate is a permanent error, without a retry', async () => {
  const server = createServer(selfSigned, (_request, response) => response.end());
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const { port } = server.address() as { port: number };
  const api = client(`https://127.0.0.1:${port}`);
  const error = await get(api).catch((reason: unknown) => reason);
  expect(error).toMatchObject({
    name: 'UnavailableError',
    retryable: false,
    detail: expect.stringMatching(/^this machine does not trust the certificate of the server .*DEPTH_ZERO/),
    hint: expect.stringContaining('NODE_EXTRA_CA_CERTS'),
  });
  expect(api.stats()).toMatchObject({ requests: 1, retries: 0 });
});

test('https to a server without TLS is a permanent error, and http to a TLS port has a hint', async () => {
  const service = await tinyService(() => json([]));
  const tls = client(service.url.replace('http:', 'https:'));
  expect(await get(tls).catch((reason: unknown) => reason)).toMatchObject({
    retryable: false,
    detail: expect.stringMatching(/^the server does not speak TLS at this port \(ERR_SSL_WRONG_VERSION_NUMBER/),
    hint: expect.stringContaining('http://'),
  });
  expect(tls.stats()).toMatchObject({ requests: 1, retries: 0 });
  const behindTls = await tinyService(
    () => json([]),
    () => ({ status: 400, body: '<html>The plain HTTP request was sent to HTTPS port</html>' }),
  );
  expect(await get(client(behindTls.url)).catch((reason: unknown) => reason)).toMatchObject({
    hint: expect.stringContaining('https://'),
  });
});

const noAddress = ['', 'shop.example', 'ftp://h', 'http://u@h', 'http://:p@h', 'http://h?shop=1', 'http://h#shop'];
test.each([...noAddress.map((baseUrl) => ({ baseUrl })), { clientId: '' }, { clientSecret: '' }, { concurrency: 0 }])(
  'a client cannot be opened with %o',
  (wrong) => {
    const options = { baseUrl: 'http://127.0.0.1:1', clientId: 'a', clientSecret: 's3cret-of-theirs', ...wrong };
    expect(() => door.openReviewApi(options)).toThrow(TypeError);
  },
);
