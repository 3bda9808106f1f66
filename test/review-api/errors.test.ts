import { inspect } from 'node:util';
import { expect, test } from 'vitest';
import * as door from '../../src/review-api/index.ts';
import { type ReviewApi, ReviewApiError } from '../../src/review-api/index.ts';
import { client, failureOf, json, quick, secretToken, tinyService } from './tiny-service.ts';

const get = (api: ReviewApi): Promise<unknown> => api.reviews.get(5);
const add = (api: ReviewApi) => api.subOrders.create(5, { product_id: 3, price: '1' });

/** `status`: of a response that has its own words; without it the response is no record, with 200. */
type Case = { status?: number; call?: typeof get; code: string; retryable?: true; says: string; hint?: string };

const family: Record<string, Case> = {
  AuthenticationError: {
    ...{ status: 401, code: 'authentication', says: 'the review service did not accept the credentials' },
    hint: 'check the client id and the client secret, and that they belong to this service',
  },
  RefusedError: { status: 422, code: 'refused', says: 'refused by the review service' },
  NotFoundError: { status: 404, code: 'not-found', says: 'the review service has no such record' },
  LimitedError: {
    ...{ status: 429, code: 'limited', retryable: true, says: 'the review service asks for fewer requests' },
    hint: expect.stringMatching(/^lower the requests per second or .*REVIEW_API_REQUESTS_PER_SECOND, REVIEW_API_CONC/),
  },
  UnavailableError: {
    ...{ status: 503, code: 'unavailable', retryable: true, says: 'the review service failed on this request' },
  },
  MalformedResponseError: {
    ...{ code: 'malformed-response', retryable: true, says: 'the response is not what this request returns' },
    hint: 'check whether the base address belongs to the service; a web site or a proxy may respond in its place',
  },
  UnknownOutcomeError: {
    ...{ status: 500, call: add, code: 'unknown-outcome' },
    says: 'sent, but it is not known whether the service carried it out',
    hint: 'read what the service holds before sending it again',
  },
};

test.each(Object.entries(family))(
  'a %s says what was sent, what was answered and whether to try again',
  async (name, { status, call = get, code, retryable = false, says, hint }) => {
    const service = await tinyService(() => (status ? { status, body: { error: 'in its words' } } : { body: [] }));
    const error = await failureOf(call(client(service.url, { retry: { ...quick, attempts: 2 } })));
    expect(error).toBeInstanceOf(ReviewApiError);
    const { method, path } = service.calls()[0] ?? {};
    expect(error).toMatchObject({
      ...{ name, code: `review-api.${code}`, retryable, method, path, status: status ?? 200, hint },
      detail: status ? 'error: in its words' : expect.stringContaining('an object'),
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

test('https to a server without TLS is permanent, and http to a TLS port has a hint', async () => {
  const service = await tinyService(() => json([]));
  const tls = client(service.url.replace('http:', 'https:'));
  expect(await failureOf(get(tls))).toMatchObject({
    ...{ name: 'UnavailableError', retryable: false, hint: expect.stringContaining('http://') },
    detail: expect.stringMatching(/^the server does not speak TLS at this port \(ERR_SSL_WRONG_VERSION_NUMBER/),
  });
  expect(tls.stats()).toMatchObject({ requests: 1, retries: 0 });
  const behindTls = await tinyService(
    () => json([]),
    () => ({ status: 400, body: '<html>The plain HTTP request was sent to HTTPS port</html>' }),
  );
  expect(await failureOf(get(client(behindTls.url)))).toMatchObject({ hint: expect.stringContaining('https://') });
});
