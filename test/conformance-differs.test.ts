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

/** Takes every code for a new one. */
function duplicates(): Change {
  let calls = 0;
  return inCalls('POST', all('categories'), ({ form }) => {
    calls += 1;
    form.set('code', `${form.get('code')}-${calls}`);
  });
}

/** Says that it deleted, and did not. */
const keeps = (path: RegExp): Change => ({
  call: (call) => {
    if (call.method === 'DELETE' && path.test(call.path)) call.method = 'HEAD';
  },
  answer: (answer, call) => {
    if (call.method === 'HEAD') Object.assign(answer, { status: 204, body: undefined });
  },
});

const keepsAll = 'DELETE /v1/reviews/:id deletes it for good';

/** The statement that must find it, its section, and what the service does otherwise. */
const deviations: readonly [statement: string, section: string, change: Change][] = [
  [
    'POST /v1/orders answers 201',
    'orders',
    inAnswers('POST', all('orders'), (answer) => {
      answer.status = 200;
    }),
  ],
  [
    'POST /v1/categories has the Location /v1/categories',
    'categories',
    inAnswers('POST', all('categories'), ({ headers }) => delete headers.location),
  ],
  [
    'the Link header holds rel "last" with the last page\'s number',
    'orders',
    inAnswers('GET', all('orders'), ({ headers }) => delete headers.link),
  ],
  [
    'a review has created_at: datetime',
    'review-reading',
    fields('GET', one('reviews'), (review) => {
      review.created_at = String(review.created_at).replace(/\.\d{3}/, '');
    }),
  ],
  [
    'score 1 to 5: only reviews of that rating',
    'review-list',
    inCalls('GET', all('reviews'), ({ query }) => query.delete('score')),
  ],
  [
    'date_updated_at 1: dates are of the update instead of the creation',
    'review-list',
    inCalls('GET', all('reviews'), ({ query }) => query.delete('date_updated_at')),
  ],
  [
    'rule 3: where datetimes are given, dates are ignored',
    'review-list',
    inCalls('GET', all('reviews'), ({ query }) => {
      if (query.has('start_date')) for (const name of ['start_datetime', 'end_datetime']) query.delete(name);
    }),
  ],
  [
    'score omitted means a review with no rating',
    'review-writes',
    fields('POST', all('reviews'), (review) => {
      review.score ??= 5;
    }),
  ],
  ['DELETE /v1/reviews/:id deletes it for good', 'review-writes', keeps(one('reviews'))],
  ['code is unique: the same code again updates the record', 'categories', duplicates()],
  [
    'a user grade has icon_url: string',
    'user-grades',
    fields('GET', one('user_grades'), (grade) => {
      grade.icon_url = 7;
    }),
  ],
];

test.each([...Map.groupBy(deviations, ([, section]) => section)])(
  'what differs in the section %s is reported, and the service is left clean',
  async (section, some) => {
    const { url, databaseUrl } = await seededService();
    await using proxy = await startChangingProxy(url, {
      call(call) {
        for (const [, , change] of some) change.call?.(call);
      },
      answer(answer, call) {
        for (const [, , change] of some) change.answer?.(answer, call);
      },
    });
    const { results, left } = await conform(settingsFor(proxy.url, { waitSeconds: 0.2 }), [section]);
    const found = differing(results).map(({ says }) => says);
    expect(found).toEqual(expect.arrayContaining(some.map(([statement]) => statement)));
    expect(left).toEqual([]);
    if (!some.some(([statement]) => statement === keepsAll)) expect(await query(databaseUrl, ourCodes)).toEqual([]);
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
  expect(differing(results).map(({ says }) => says)).toContain(
    'code: shop-side unique identifier, shown as it was sent',
  );
  expect(left).toEqual([]);
  expect(await read()).toEqual([rich]);
});

test('a refused write differs once; what needs its record cannot be checked', async () => {
  const { url } = await seededService();
  const change = inAnswers('POST', all('orders'), (answer) => Object.assign(answer, { status: 500, body: {} }));
  await using proxy = await startChangingProxy(url, change);
  const { results, left } = await conform(settingsFor(proxy.url), ['orders']);
  expect(differing(results).map(({ says }) => says)).toContain('POST /v1/orders answers 201');
  expect(untold(results)).toContain('an order has phone: string (buyer phone)');
  // They were made all the same: what has no id is removed by its code.
  expect(left).toEqual([]);
});
