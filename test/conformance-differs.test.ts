import { expect, test } from 'vitest';
import { query } from './harness/database.ts';
import { all, type Change, eachObject, inAnswers, inCalls, startChangingProxy } from './harness/proxy.ts';
import { conform, differing, seededService, untold } from './sandbox/reference-service/conform.ts';
import { tokenOf } from './sandbox/reference-service/service.ts';

const ourCodes = `
  select code from reference_service.orders where code like 'conf-%'
  union all select code from reference_service.categories where code like 'conf-%'
  union all select code from reference_service.reviews where code like 'conf-%'
  union all select name from reference_service.user_grades`;
const richReview = `select * from reference_service.reviews where code = 'rich'`;

const aReview = /^\/v1\/reviews\/\d+$/;
const fields = (method: string, path: RegExp, change: (fields: Record<string, unknown>) => void) =>
  inAnswers(method, path, ({ body }) => eachObject(body, change));
const withoutFilter = (name: string) => inCalls('GET', all('reviews'), ({ query }) => query.delete(name));

/** Says that it deleted a review, and did not. */
const keeps: Change = {
  call: (call) => {
    if (call.method === 'DELETE' && aReview.test(call.path)) call.method = 'HEAD';
  },
  answer: (answer, call) => {
    if (call.method === 'HEAD') Object.assign(answer, { status: 204, body: undefined });
  },
};

/** Asks for no token: sends it where it is left out. */
const tokenless = (token: string): Change => ({
  call: ({ form, query }) => {
    if (!form.has('access_token') && !query.has('access_token')) query.set('access_token', token);
  },
});

const created = 'POST /v1/categories answers 201 with the Location /v1/categories';
const keepsAll = 'DELETE /v1/reviews/:id deletes it for good, with 204';
const operations = ['GET /v1/reviews', 'POST /v1/orders', 'PATCH /v1/reviews/:id', 'DELETE /v1/orders/:id'];

/** The way in which the service differs, the sections that are run, and the statements that must find it. */
const rows: [what: string, sections: string[], changes: Change[] | ((token: string) => Change), differ: string[]][] = [
  [
    'another status, no last page, dates without milliseconds, and ignored filters',
    ['categories', 'review-reading', 'review-list'],
    [
      inAnswers('POST', all('categories'), (answer) => Object.assign(answer, { status: 200 })),
      inAnswers('GET', all('categories'), ({ headers }) => delete headers.link),
      fields('GET', aReview, (review) => {
        review.created_at = String(review.created_at).replace(/\.\d{3}/, '');
      }),
      withoutFilter('score'),
      withoutFilter('date_updated_at'),
    ],
    [
      ...[
        created,
        'the Link header holds rel "last" with the last page\'s number',
        'a review has created_at: datetime',
      ],
      ...[
        'score 1 to 5: only reviews of that rating',
        'date_updated_at 1: dates are of the update instead of the creation',
      ],
    ],
  ],
  [
    'five stars for reviews without, and deletions that delete nothing',
    ['review-writes'],
    [
      fields('POST', all('reviews'), (review) => {
        review.score ??= 5;
      }),
      keeps,
    ],
    ['score omitted means a review with no rating', keepsAll],
  ],
  ['no token', ['authentication'], tokenless, operations.map((name) => `3: ${name} needs the access_token`)],
  [
    'the id of another record, and no code',
    ['review-writes', 'put'],
    [inAnswers('POST', all('reviews'), (answer) => Object.assign(answer, { body: { id: 1 } }))],
    ['POST /v1/reviews: code is shown as it was sent'],
  ],
  [
    'a refused write, which was carried out',
    ['categories'],
    [inAnswers('POST', all('categories'), (answer) => Object.assign(answer, { status: 500, body: {} }))],
    [created],
  ],
];

test.each(rows)('a service with %s: that differs, and nothing is left or lost', async (_, sections, given, differ) => {
  const { url, databaseUrl } = await seededService();
  const [rich] = await query(databaseUrl, richReview);
  expect(rich?.id).toBe('1');
  const changes = typeof given === 'function' ? [given(await tokenOf(url))] : given;
  await using proxy = await startChangingProxy(url, {
    call(call) {
      for (const change of changes) change.call?.(call);
    },
    answer(answer, call) {
      for (const change of changes) change.answer?.(answer, call);
    },
  });
  const { results, left } = await conform(proxy.url, sections, 0.2);
  const found = differing(results).map(({ says }) => says);
  expect(found).toEqual(expect.arrayContaining(differ));
  // If a statement needs the record of a refused write, it cannot be checked. A record without an id is removed by its
  // code.
  if (differ.join() === created) expect(untold(results)).toContain('a category has depth: integer');
  expect(left).toEqual([]);
  expect(await query(databaseUrl, richReview)).toEqual([rich]);
  if (!differ.includes(keepsAll)) expect(await query(databaseUrl, ourCodes)).toEqual([]);
});
