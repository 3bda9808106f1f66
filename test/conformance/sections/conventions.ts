import { ensure, isRow, isSame, isSuccess, listOf, locationIs, rowOf, show, statusIs } from '../expect.ts';
import type { Answer } from '../http.ts';
import { pageOf, tellsMore } from '../link.ts';
import { isPreciseToSeconds } from '../precision.ts';
import {
  aCategory,
  aGrade,
  anOrder,
  anotherCategory,
  anotherGrade,
  anotherOrder,
  anotherReview,
  aReview,
  categoryAnswer,
  detailOf,
  fullestListed,
  gradeAnswer,
  orderAnswer,
  reviewAnswer,
} from '../records.ts';
import { readOverview } from '../review-samples.ts';
import type { Session } from '../session.ts';
import { CannotTell, inSection, type Statement } from '../statement.ts';

const says = inSection('General conventions');
const lists = ['/v1/orders', '/v1/categories', '/v1/user_grades', '/v1/reviews'] as const;

/** Every resource: how it is made, one, and another one. */
const resources = [
  { name: 'an order', path: '/v1/orders', answer: orderAnswer, one: anOrder, another: anotherOrder },
  { name: 'a category', path: '/v1/categories', answer: categoryAnswer, one: aCategory, another: anotherCategory },
  { name: 'a user grade', path: '/v1/user_grades', answer: gradeAnswer, one: aGrade, another: anotherGrade },
  { name: 'a review', path: '/v1/reviews', answer: reviewAnswer, one: aReview, another: anotherReview },
] as const;

/** What is changed of each, without a mail to anybody. */
const changes = {
  '/v1/orders': { user_name: 'Changed' },
  '/v1/categories': { name: 'Changed' },
  '/v1/user_grades': { name: 'Changed' },
  '/v1/reviews': { message: 'Changed.' },
} as const;

const withoutVersion: Statement[] = lists.map((path) =>
  says(`1: resource paths start with /v1/: ${path} lists, ${path.slice(3)} is no such list`, async (session) => {
    listOf(await session.call('GET', path));
    const answer = await session.call('GET', path.slice(3));
    ensure(answer.status !== 200 || !Array.isArray(answer.body), answer.told, 'no list outside /v1/');
  }),
);

const byIdAndCode: Statement[] = resources
  .filter(({ path }) => path === '/v1/categories' || path === '/v1/reviews')
  .map(({ name, path, one }) =>
    says(
      `2: ${name} is addressed by the service's id in the path, or by the shop's code as a parameter`,
      async (session) => {
        const { id, code } = await session.shared(one);
        const byId = rowOf(await session.call('GET', `${path}/${id}`));
        const byCode = rowOf(await session.call('GET', path, { query: { code: String(code) } }));
        isSame('by id and by code: the id', [byId.id, byCode.id], [id, id]);
      },
    ),
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

const withToken: Statement[] = lists.map((path) =>
  says(`6: the access_token parameter is sent with every resource request: GET ${path}`, async (session) => {
    listOf(await session.call('GET', path));
    const answer = await session.call('GET', path, { token: 'none' });
    ensure(!isSuccess(answer), answer.told, 'a refusal without access_token');
  }),
);

const created: Statement[] = resources.map(({ name, path, answer }) =>
  says(`5: POST of ${name} answers 201 with Location ${path}`, async (session) => {
    const made = await session.shared(answer);
    statusIs(made, 201);
    locationIs(made, path);
  }),
);

const updated: Statement[] = resources.map(({ name, path, one }) =>
  says(`5: PATCH of ${name} answers 204 with Location ${path}/:id and no body`, async (session) => {
    const { id } = await session.shared(one);
    const answer = await session.call('PATCH', `${path}/${id}`, { form: changes[path] });
    isUpdate(answer, `${path}/${id}`);
  }),
);

function isUpdate(answer: Answer, path: string): void {
  statusIs(answer, 204);
  ensure(answer.text === '', answer.told, 'no body');
  locationIs(answer, path);
}

const listing: Statement[] = resources.flatMap(({ path, one, another }) => [
  says(`7: GET ${path} answers with a JSON array`, async (session) => {
    listOf(await session.call('GET', path));
  }),
  says(`7: the Link header of GET ${path} holds rel "last" with the last page's number`, async (session) => {
    const last = pageOf(await session.call('GET', path), 'last');
    ensure(last >= 1, `page ${last}`, 'a page number from 1');
  }),
  says(`7: the Link header of GET ${path} holds rel "next" with the next page's number`, async (session) => {
    if (!session.settings.readOnly) {
      await session.shared(one);
      await session.shared(another);
    }
    const answer = await session.call('GET', path, { query: { limit: 1 } });
    if (session.settings.readOnly && !tellsMore(answer)) throw new CannotTell(`needs more than one record at ${path}`);
    isSame('rel "next" of page 1: page', pageOf(answer, 'next'), 2);
  }),
]);

const precision: Statement[] = (['orders', 'reviews'] as const).map((kind) =>
  says(`4: created_at given to /v1/${kind} is significant only to the second`, (session) =>
    isPreciseToSeconds(session, kind),
  ),
);

export const conventions: readonly Statement[] = [
  ...withoutVersion,
  ...byIdAndCode,
  ...json,
  ...timestamps,
  ...precision,
  ...created,
  ...updated,
  ...withToken,
  ...listing,
];
