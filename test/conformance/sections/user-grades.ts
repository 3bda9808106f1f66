import { ensure, isSame, listOf, pageOf, pagesOf } from '../expect.ts';
import { fullestListed, listed, records } from '../records.ts';
import { type Resource, resourceStatements, shapesOf } from '../resource.ts';
import type { Session } from '../session.ts';
import { CannotTell, inSection, type Statement } from '../statement.ts';
import type { FieldTable, Parameter } from '../tables.ts';

const path = '/v1/user_grades';

const fields: FieldTable = [
  ['integer', 'id'],
  ['string', 'name icon_url'],
  ['datetime', 'created_at updated_at'],
];

/** This run's grade in the list: it is on the last page, as long as the list tells which that is. */
async function item(session: Session) {
  const { id } = await records.user_grades.one(session);
  const first = await session.call('GET', path, { query: { limit: 100 } });
  const { last: page = 1 } = pagesOf(first);
  const rows = [...listOf(first), ...(await listed(session, path, { limit: 100, page }))];
  const found = rows.find((row) => row.id === id);
  if (found) return found;
  throw new CannotTell('the grade made is neither on the first page nor on the last');
}

const icon: Parameter = {
  name: 'icon_url',
  value: 'https://example.com/other.png',
  shownAs: 'icon_url',
  // The service may keep a copy of its own.
  as: (found) => typeof found === 'string' && found !== '',
};

export const userGrade: Resource = {
  kind: 'user_grades',
  noun: 'user grade',
  called: 'a user grade',
  under: 'Endpoints, User grades',
  headings: { list: 'List', get: 'Get', create: 'Create', update: 'Update', delete: 'Delete' },
  tables: { section: 'Resources, User grade', alone: fields, listedSample: item },
  // Shows whose it is where a grade is made without a name.
  required: async (session) => ({ icon_url: `https://example.com/${session.prefix}.png` }),
  refusedWithout: ['name'],
  parameters: { create: [icon], update: [{ name: 'name', value: 'Renamed', shownAs: 'name' }, icon], updateByCode: [] },
  text: { sent: 'name', shownAs: 'name' },
  ofThisRun: () => ({}),
  deletesWith204: true,
};

export const userGrades: readonly Statement[] = [
  ...shapesOf(userGrade),
  ...resourceStatements(userGrade),
  inSection('Endpoints, User grades, List')('no grade is on the page after the last one', async (session) => {
    await records.user_grades.one(session);
    await fullestListed(session, path);
    const last = pageOf(await session.call('GET', path, { query: { limit: 1 } }), 'last');
    isSame(`items on page ${last}`, (await listed(session, path, { limit: 1, page: last })).length, 1);
    const { body } = await session.call('GET', path, { query: { limit: 1, page: last + 1 } });
    ensure(!Array.isArray(body) || body.length === 0, `grades on page ${last + 1}, after the last`, 'none');
  }),
];
