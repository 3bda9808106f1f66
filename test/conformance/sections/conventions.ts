import { ensure, isSame, listOf, succeeds } from '../expect.ts';
import { read } from '../resource.ts';
import { inSection, type Statement } from '../statement.ts';
import { category } from './categories.ts';
import { order } from './orders.ts';
import { review } from './review-writing.ts';

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

export const conventions: readonly Statement[] = [...withoutVersion, ...json];

/** Sub-orders have no other way to be changed: `sub-orders.ts`. */
export const put: readonly Statement[] = [order, category, review].map(({ kind, called, fresh, text }) =>
  inSection('Endpoints, Update by PUT')(
    `${called} is changed by PUT /v1/${kind}/:id with fields as query parameters`,
    async (session) => {
      const { id } = await fresh(session, 'put');
      succeeds(await session.call('PUT', `/v1/${kind}/${id}`, { query: { [text.sent]: 'Put' } }));
      isSame(text.shownAs, (await read(session, kind, id))[text.shownAs], 'Put');
    },
  ),
);
