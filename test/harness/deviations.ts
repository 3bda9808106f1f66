import type { Answer, Call, Change } from './proxy.ts';

/** A service that is not as the spec says, and the statement that must find it. */
export type Deviation = { does: string; section: string; statement: string; change: Change };

const is = (call: Call, method: string, path: RegExp) => call.method === method && path.test(call.path);
const one = (noun: string) => new RegExp(`^/v1/${noun}/\\d+$`);
export const all = (noun: string) => new RegExp(`^/v1/${noun}$`);

type Fields = Record<string, unknown>;
export const isFields = (value: unknown): value is Fields => typeof value === 'object' && value !== null;

/** Changes each object of the answer, at any depth. */
export function eachObject(value: unknown, change: (fields: Fields) => void): void {
  if (!isFields(value)) return;
  change(value);
  for (const inner of Object.values(value)) eachObject(inner, change);
}

/** Changes the answers to one kind of call. */
export const inAnswers = (method: string, path: RegExp, change: (answer: Answer) => void): Change => ({
  answer: (answer, call) => {
    if (is(call, method, path)) change(answer);
  },
});

/** Changes the calls of one kind. */
const inCalls = (method: string, path: RegExp, change: (call: Call) => void): Change => ({
  call: (call) => {
    if (is(call, method, path)) change(call);
  },
});

const fields = (method: string, path: RegExp, change: (fields: Fields) => void) =>
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
    if (is(call, 'DELETE', path)) call.method = 'HEAD';
  },
  answer: (answer, call) => {
    if (call.method === 'HEAD') Object.assign(answer, { status: 204, body: undefined });
  },
});

export const keepsAll = 'keeps what it was to delete';

export const deviations: readonly Deviation[] = [
  {
    does: 'answers 200 instead of 201',
    section: 'orders',
    statement: 'POST /v1/orders answers 201',
    change: inAnswers('POST', all('orders'), (answer) => {
      answer.status = 200;
    }),
  },
  {
    does: 'gives no Location',
    section: 'categories',
    statement: 'POST /v1/categories has the Location /v1/categories',
    change: inAnswers('POST', all('categories'), ({ headers }) => delete headers.location),
  },
  {
    does: 'gives no Link',
    section: 'orders',
    statement: 'the Link header holds rel "last" with the last page\'s number',
    change: inAnswers('GET', all('orders'), ({ headers }) => delete headers.link),
  },
  {
    does: 'shows times without milliseconds',
    section: 'review-reading',
    statement: 'a review has created_at: datetime',
    change: fields('GET', one('reviews'), (review) => {
      review.created_at = String(review.created_at).replace(/\.\d{3}/, '');
    }),
  },
  {
    does: 'ignores the score filter',
    section: 'review-list',
    statement: 'score 1 to 5: only reviews of that rating',
    change: inCalls('GET', all('reviews'), ({ query }) => query.delete('score')),
  },
  {
    does: 'takes every date for the creation’s',
    section: 'review-list',
    statement: 'date_updated_at 1: dates are of the update instead of the creation',
    change: inCalls('GET', all('reviews'), ({ query }) => query.delete('date_updated_at')),
  },
  {
    does: 'heeds days although times are given',
    section: 'review-list',
    statement: 'rule 3: where datetimes are given, dates are ignored',
    change: inCalls('GET', all('reviews'), ({ query }) => {
      if (query.has('start_date')) for (const name of ['start_datetime', 'end_datetime']) query.delete(name);
    }),
  },
  {
    does: 'shows no rating as five stars',
    section: 'review-writes',
    statement: 'score omitted means a review with no rating',
    change: fields('POST', all('reviews'), (review) => {
      review.score ??= 5;
    }),
  },
  {
    does: keepsAll,
    section: 'review-writes',
    statement: 'DELETE /v1/reviews/:id deletes it for good',
    change: keeps(one('reviews')),
  },
  {
    does: 'makes a second record of a code that it has',
    section: 'categories',
    statement: 'code is unique: the same code again updates the record',
    change: duplicates(),
  },
];
