import { expect, test } from 'vitest';
import { query } from './harness/database.ts';
import { all, type Change, eachObject, inAnswers, inCalls, startChangingProxy } from './harness/proxy.ts';
import { conform, differing, seededService, settingsFor, untold } from './sandbox/reference-service/conform.ts';
import { tokenOf } from './sandbox/reference-service/service.ts';

const ourCodes = `
  select code from reference_service.orders where code like 'conf-%'
  union all select code from reference_service.categories where code like 'conf-%'
  union all select code from reference_service.reviews where code like 'conf-%'
  union all select name from reference_service.user_grades`;

const one = (noun: string) => new RegExp(`^/v1/${noun}/\\d+$`);
const fields = (method: string, path: RegExp, change: (fields: Record<string, unknown>) => void) =>
  inAnswers(method, path, ({ body }) => eachObject(body, change));

const withoutFilter = (name: string) => inCalls('GET', all('reviews'), ({ query }) => query.delete(name));

/** Says that it deleted, and did not. */
const keeps = (path: RegExp): Change => ({
  call: (call) => {
    if (call.method === 'DELETE' && path.test(call.path)) call.method = 'HEAD';
  },
  answer: (answer, call) => {
    if (call.method === 'HEAD') Object.assign(answer, { status: 204, body: undefined });
  },
});

const keepsAll = 'DELETE /v1/reviews/:id deletes it for good, with 204';

/** What the service does otherwise, by the section and the statement that must find it. */
const deviations: Record<string, Record<string, Change>> = {
  orders: {
    'POST /v1/orders answers 201 with the Location /v1/orders': inAnswers('POST', all('orders'), (answer) =>
      Object.assign(answer, { status: 200 }),
    ),
    'the Link header holds rel "last" with the last page\'s number': inAnswers(
      'GET',
      all('orders'),
      ({ headers }) => delete headers.link,
    ),
  },
  'review-reading': {
    'a review has created_at: datetime': fields('GET', one('reviews'), (review) => {
      review.created_at = String(review.created_at).replace(/\.\d{3}/, '');
    }),
  },
  'review-list': {
    'score 1 to 5: only reviews of that rating': withoutFilter('score'),
    'date_updated_at 1: dates are of the update instead of the creation': withoutFilter('date_updated_at'),
  },
  'review-writes': {
    'score omitted means a review with no rating': fields('POST', all('reviews'), (review) => {
      review.score ??= 5;
    }),
    [keepsAll]: keeps(one('reviews')),
  },
};

test.each(Object.entries(deviations))(
  'what differs in the section %s is reported, and the service is left clean',
  async (section, some) => {
    const { url, databaseUrl } = await seededService();
    const changes = Object.values(some);
    await using proxy = await startChangingProxy(url, {
      call(call) {
        for (const change of changes) change.call?.(call);
      },
      answer(answer, call) {
        for (const change of changes) change.answer?.(answer, call);
      },
    });
    const { results, left } = await conform(settingsFor(proxy.url, { waitSeconds: 0.2 }), [section]);
    const found = differing(results).map(({ says }) => says);
    expect(found).toEqual(expect.arrayContaining(Object.keys(some)));
    expect(left).toEqual([]);
    if (!(keepsAll in some)) expect(await query(databaseUrl, ourCodes)).toEqual([]);
  },
);

test('a service that asks for no token is told so, for each operation', async () => {
  const { url } = await seededService();
  const token = await tokenOf(url);
  const change: Change = {
    call: ({ form, query }) => {
      if (!form.has('access_token') && !query.has('access_token')) query.set('access_token', token);
    },
  };
  await using proxy = await startChangingProxy(url, change);
  const { results } = await conform(settingsFor(proxy.url), ['authentication']);
  const found = differing(results).map(({ says }) => says);
  for (const name of ['GET /v1/reviews', 'POST /v1/orders', 'PATCH /v1/reviews/:id', 'DELETE /v1/orders/:id']) {
    expect(found).toContain(`3: ${name} needs the access_token`);
  }
});

test('a POST that shows another record’s id and no code does not lose that record', async () => {
  const { url, databaseUrl } = await seededService();
  const read = () => query(databaseUrl, 'select * from reference_service.reviews');
  const [rich] = await read();
  const change = inAnswers('POST', all('reviews'), (answer) => {
    answer.body = { id: Number(rich?.id) };
  });
  await using proxy = await startChangingProxy(url, change);
  const { results, left } = await conform(settingsFor(proxy.url, { waitSeconds: 0.2 }), ['review-writes', 'put']);
  expect(differing(results).map(({ says }) => says)).toContain('POST /v1/reviews: code is shown as it was sent');
  expect(left).toEqual([]);
  expect(await read()).toEqual([rich]);
});

test('a refused write differs once; what needs its record cannot be checked', async () => {
  const { url } = await seededService();
  const change = inAnswers('POST', all('orders'), (answer) => Object.assign(answer, { status: 500, body: {} }));
  await using proxy = await startChangingProxy(url, change);
  const { results, left } = await conform(settingsFor(proxy.url), ['orders']);
  expect(differing(results).map(({ says }) => says)).toContain(
    'POST /v1/orders answers 201 with the Location /v1/orders',
  );
  expect(untold(results)).toContain('an order has phone: string');
  // They were made all the same: what has no id is removed by its code.
  expect(left).toEqual([]);
});
