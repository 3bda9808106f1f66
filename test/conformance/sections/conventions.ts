import { ensure, isRow, listOf, show } from '../expect.ts';
import { aCategory, aGrade, anOrder, aReview, detailOf, fullestListed } from '../records.ts';
import { readOverview } from '../review-samples.ts';
import type { Session } from '../session.ts';
import { inSection, type Statement } from '../statement.ts';

const says = inSection('General conventions');
const lists = ['/v1/orders', '/v1/categories', '/v1/user_grades', '/v1/reviews'] as const;

const withoutVersion: Statement[] = lists.map((path) =>
  says(`1: resource paths start with /v1/: ${path} lists, ${path.slice(3)} is no such list`, async (session) => {
    listOf(await session.call('GET', path));
    const answer = await session.call('GET', path.slice(3));
    ensure(answer.status !== 200 || !Array.isArray(answer.body), answer.told, 'no list outside /v1/');
  }),
);

const json: Statement[] = [...lists, '/v1/reviews/overview'].map((path) =>
  says(`3: GET ${path} is answered in JSON`, async (session) => {
    const answer = await session.call('GET', path);
    const type = answer.headers.get('content-type') ?? 'none';
    ensure(answer.body !== undefined, answer.told, 'JSON');
    ensure(/\bjson\b/.test(type), `Content-Type ${type}`, 'a JSON type');
  }),
);

/** What shows timestamps, and an example of each; a run that only reads takes one that is there. */
const timed: readonly (readonly [name: string, sample: (session: Session) => Promise<unknown>])[] = [
  ['an order', (session) => detailOf(session, '/v1/orders', anOrder)],
  ['an order of the list', (session) => fullestListed(session, '/v1/orders')],
  ['a category', (session) => detailOf(session, '/v1/categories', aCategory)],
  ['a user grade', (session) => detailOf(session, '/v1/user_grades', aGrade)],
  ['a review', (session) => detailOf(session, '/v1/reviews', aReview)],
  ['a review of the list', (session) => fullestListed(session, '/v1/reviews')],
  ['the review overview', readOverview],
];

const timestamps: Statement[] = timed.map(([name, sample]) =>
  says(`3: timestamps of ${name} are ISO 8601 with milliseconds and a numeric UTC offset`, async (session) => {
    const times = timesIn(await sample(session));
    ensure(times.length > 0, 'no timestamp', 'at least one');
    const bad = times.find((time) => !/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}[+-]\d\d:?\d\d$/.test(time));
    ensure(bad === undefined, show(bad), 'such as 2024-01-31T12:00:00.000+09:00');
  }),
);

/** All that looks like a time, however deep. */
function timesIn(value: unknown): string[] {
  if (typeof value === 'string') return /^\d{4}-\d\d-\d\dT/.test(value) ? [value] : [];
  if (Array.isArray(value)) return value.flatMap(timesIn);
  return isRow(value) ? Object.values(value).flatMap(timesIn) : [];
}

export const conventions: readonly Statement[] = [...withoutVersion, ...json, ...timestamps];
