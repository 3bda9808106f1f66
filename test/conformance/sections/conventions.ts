import { ensure, listOf } from '../expect.ts';
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

export const conventions: readonly Statement[] = [...withoutVersion, ...json];
