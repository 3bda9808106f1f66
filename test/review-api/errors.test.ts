import { inspect } from 'node:util';
import { expect, test } from 'vitest';
import * as door from '../../src/review-api/index.ts';
import { type ReviewApi, ReviewApiError } from '../../src/review-api/index.ts';
import { client, failureOf, json, quick, secretToken, tinyService } from './tiny-service.ts';

const get = (api: ReviewApi): Promise<unknown> => api.reviews.get(5);
const add = (api: ReviewApi) => api.subOrders.create(5, { product_id: 3, price: '1' });

const family = [
  ['AuthenticationError', 401, 'authentication', false, 'the review service did not accept the credentials'],
  ['RefusedError', 422, 'refused', false, 'refused by the review service'],
  ['RefusedError', 403, 'refused', false, 'refused by the review service'],
  ['NotFoundError', 404, 'not-found', false, 'the review service has no such record'],
  ['NotFoundError', 410, 'not-found', false, 'the review service has no such record'],
  ['LimitedError', 429, 'limited', true, 'the review service asks for fewer requests'],
  ['UnavailableError', 503, 'unavailable', true, 'the review service failed on this request'],
  ['MalformedResponseError', 200, 'malformed-response', true, 'the response is not what this request returns'],
  [
    'UnknownOutcomeError',
    500,
    'unknown-outcome',
    false,
    'sent, but it is not known whether the service carried it out',
  ],
] as const;

const hints: Record<string, unknown> = {
  AuthenticationError: 'check the client id and the client secret, and that they belong to this service',
  LimitedError: expect.stringMatching(
    /^lower the requests per second or .*REVIEW_API_REQUESTS_PER_SECOND, REVIEW_API_CONC/,
  ),
  MalformedResponseError:
    'check whether the base address belongs to the service; a web site or a proxy may respond in its place',
  UnknownOutcomeError: 'read what the service holds before sending it again',
};

test.each(family)(
  'a %s (status %i) says what was sent, what was answered and whether to try again',
  async (name, status, code, retryable, says) => {
    const isRecord = status !== 200;
    const service = await tinyService(() => ({ status, body: isRecord ? { error: 'in its words' } : [] }));
    const call = name === 'UnknownOutcomeError' ? add : get;
    const error = await failureOf(call(client(service.url, { retry: { ...quick, attempts: 2 } })));
    expect(error).toBeInstanceOf(ReviewApiError);
    const { method, path } = service.calls()[0] ?? {};
    // A token that is refused is renewed first.
    if (status !== 401) expect(service.calls()).toHaveLength(retryable ? 2 : 1);
    expect(error).toMatchObject({
      name,
      code: `review-api.${code}`,
      retryable,
      method,
      path,
      status,
      hint: hints[name],
      detail: isRecord ? 'error: in its words' : expect.stringContaining('an object'),
      message: expect.stringContaining(`${method} ${path}: ${says} (status `),
    });
    expect(inspect(error, { showHidden: true, depth: 9 })).not.toContain(secretToken(1));
  },
);

test('every error of the family is exported by the door and has its case in this file', () => {
  const exported = Object.keys(door).filter((name) => name.endsWith('Error'));
  // The limit of pages has its cases in requests.test.ts.
  const names = new Set([...family.map(([name]) => name), 'PageLimitError', 'ReviewApiError']);
  expect(exported.sort()).toEqual([...names].sort());
});

test('https to a server without TLS is permanent, and http to a TLS port has a hint', async () => {
  const service = await tinyService(() => json([]));
  const tls = client(service.url.replace('http:', 'https:'));
  expect(await failureOf(get(tls))).toMatchObject({
    name: 'UnavailableError',
    retryable: false,
    hint: expect.stringContaining('http://'),
    detail: expect.stringMatching(/^the server does not speak TLS at this port \(ERR_SSL_WRONG_VERSION_NUMBER/),
  });
  expect(tls.stats()).toMatchObject({ requests: 1, retries: 0 });
  const behindTls = await tinyService(
    () => json([]),
    () => ({ status: 400, body: '<html>The plain HTTP request was sent to HTTPS port</html>' }),
  );
  expect(await failureOf(get(client(behindTls.url)))).toMatchObject({ hint: expect.stringContaining('https://') });
});
