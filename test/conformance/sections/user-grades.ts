import { ensure, isSame, isSuccess, listOf, rowOf, show, succeeds } from '../expect.ts';
import { type FieldTable, fieldStatements } from '../kinds.ts';
import { pageOf, pagesOf } from '../link.ts';
import { parameterStatements } from '../parameters.ts';
import { codeOf, enter, noteId, post } from '../post.ts';
import { aGrade, anotherGrade, detailOf, freshGrade, fullestListed, gradeAnswer, listed } from '../records.ts';
import { type Resource, resourceStatements } from '../resource.ts';
import type { Session } from '../session.ts';
import { beyondReach, CannotTell, inSection, type Statement } from '../statement.ts';

const path = '/v1/user_grades';

const fields: FieldTable = [
  ['id', 'integer'],
  ['name', 'string'],
  ['icon_url', 'string'],
  ['created_at', 'datetime'],
  ['updated_at', 'datetime'],
];

const read = async (session: Session, id: unknown) => rowOf(await session.call('GET', `${path}/${id}`));
const detail = (session: Session) => detailOf(session, path, aGrade);

/** This run's grade in the list: it is on the last page, as long as the list tells which that is. */
async function item(session: Session) {
  if (session.settings.readOnly) return fullestListed(session, path);
  const { id } = await session.shared(aGrade);
  const first = await session.call('GET', path, { query: { limit: 100 } });
  const { last: page = 1 } = pagesOf(first);
  const rows = [...listOf(first), ...(await listed(session, path, { limit: 100, page }))];
  const found = rows.find((row) => row.id === id);
  if (found) return found;
  throw new CannotTell('the grade made is neither on the first page nor on the last');
}

const common: Resource = {
  kind: 'user_grades',
  under: 'Endpoints, User grades',
  headings: { list: 'List', get: 'Get', create: 'Create', update: 'Update', delete: 'Delete' },
  listFields: ['id', 'name'],
  answer: gradeAnswer,
  one: aGrade,
  another: anotherGrade,
  fresh: freshGrade,
  required: async () => ({}),
  text: { sent: 'name', shownAs: 'name' },
  ofThisRun: () => ({}),
  deletesWith204: true,
};
const lists = inSection('Endpoints, User grades, List');
const creates = inSection('Endpoints, User grades, Create');

const toUpdate = (session: Session) => freshGrade(session, 'grade-updated');

const writing: Statement[] = [
  lists('no grade is on the page after the last one', async (session) => {
    if (!session.settings.readOnly) await session.shared(aGrade);
    await fullestListed(session, path);
    const last = pageOf(await session.call('GET', path, { query: { limit: 1 } }), 'last');
    isSame(`items on page ${last}`, (await listed(session, path, { limit: 1, page: last })).length, 1);
    const { body } = await session.call('GET', path, { query: { limit: 1, page: last + 1 } });
    ensure(!Array.isArray(body) || body.length === 0, `grades on page ${last + 1}, after the last`, 'none');
  }),
  creates('name is required', async (session) => {
    const made = enter(session, 'user_grades', codeOf(session, 'grade-without-name'));
    const form = { icon_url: `https://example.com/${session.prefix}.png` };
    const answer = await session.call('POST', path, { form });
    noteId(session, made, answer);
    ensure(!isSuccess(answer), answer.told, 'no user grade');
  }),
  creates('name is shown as name', async (session) =>
    isSame('name', rowOf(await session.shared(gradeAnswer)).name, codeOf(session, 'grade')),
  ),
  creates('icon_url is optional', async (session) =>
    succeeds(await post(session, 'user_grades', 'grade-without-icon')),
  ),
  creates('icon_url is shown as icon_url', async (session) => {
    const { icon_url: found } = rowOf(await session.shared(gradeAnswer));
    // The service may keep a copy of its own.
    ensure(typeof found === 'string' && found !== '', show(found), 'an address');
  }),
  ...parameterStatements(inSection('Endpoints, User grades, Update'), {
    operation: 'PATCH /v1/user_grades/:id',
    parameters: [
      { name: 'name', value: 'Renamed', shownAs: 'name' },
      { name: 'icon_url', value: 'https://example.com/other.png', shownAs: 'icon_url', as: (found) => found !== null },
    ],
    write: async (session, _name, form) =>
      session.call('PATCH', `${path}/${(await session.shared(toUpdate)).id}`, { form }),
    read: async (session) => read(session, (await session.shared(toUpdate)).id),
  }),
];

export const userGrades: readonly Statement[] = [
  ...fieldStatements({ section: 'Resources, User grade', of: 'a user grade', fields, sample: detail }),
  ...fieldStatements({ section: 'Resources, User grade', of: 'a user grade of the list', fields, sample: item }),
  ...fieldStatements({
    section: 'Resources, User grade',
    of: 'the body returned by user grade creation',
    fields,
    sample: async (session) => rowOf(await session.shared(gradeAnswer)),
  }),
  ...resourceStatements(common),
  ...writing,
  inSection('What the service does')(
    'grades are shown next to reviews',
    beyondReach('needs a look at the shop’s pages'),
  ),
];
