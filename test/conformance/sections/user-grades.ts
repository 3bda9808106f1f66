import { ensure, idsOf, isSame, isSuccess, listOf, rowOf, show, statusIs, succeeds } from '../expect.ts';
import { type FieldTable, fieldStatements } from '../kinds.ts';
import { pageOf, pagesOf } from '../link.ts';
import { parameterStatements } from '../parameters.ts';
import { codeOf, enter, noteId, post } from '../post.ts';
import { aGrade, anotherGrade, detailOf, freshGrade, fullestListed, gradeAnswer, isGone, listed } from '../records.ts';
import type { Session } from '../session.ts';
import { beyondReach, CannotTell, inSection, type Statement } from '../statement.ts';
import { createStatements, updateStatements } from '../writes.ts';

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

const says = (operation: string) => inSection(`Endpoints, User grades, ${operation}`);
const [lists, gets, creates, changes, deletes] = [
  says('List'),
  says('Get'),
  says('Create'),
  says('Update'),
  says('Delete'),
];

const two = async (session: Session) => {
  if (session.settings.readOnly) return;
  await session.shared(aGrade);
  await session.shared(anotherGrade);
};

const reading: Statement[] = [
  lists('answers 200 with an array of user grades', async (session) => {
    const rows = listOf(await session.call('GET', path));
    ensure(
      rows.every((row) => 'id' in row && 'name' in row),
      show(rows[0]),
      'user grades',
    );
  }),
  lists('limit: from 1, and that many items', async (session) => {
    await two(session);
    await fullestListed(session, path);
    isSame('items with limit=1', (await listed(session, path, { limit: 1 })).length, 1);
  }),
  lists('page: the page of that number', async (session) => {
    await two(session);
    const [first] = idsOf(await listed(session, path, { limit: 1, page: 1 }));
    const [second] = idsOf(await listed(session, path, { limit: 1, page: 2 }));
    if (session.settings.readOnly && second === undefined) throw new CannotTell('needs more than one user grade');
    ensure(second !== undefined && first !== second, `grade ${second} on page 2`, `another grade than ${first}`);
  }),
  lists('the last page is in the rel `last` of Link', async (session) => {
    await two(session);
    await fullestListed(session, path);
    const last = pageOf(await session.call('GET', path, { query: { limit: 1 } }), 'last');
    isSame(`items on page ${last}`, (await listed(session, path, { limit: 1, page: last })).length, 1);
    const { body } = await session.call('GET', path, { query: { limit: 1, page: last + 1 } });
    ensure(!Array.isArray(body) || body.length === 0, `grades on page ${last + 1}, after the last`, 'none');
  }),
  gets('GET /v1/user_grades/:id answers 200 with the user grade', async (session) => {
    const { id } = await session.shared(detail);
    const answer = await session.call('GET', `${path}/${id}`);
    statusIs(answer, 200);
    isSame('id', rowOf(answer).id, id);
  }),
];

const toUpdate = (session: Session) => freshGrade(session, 'grade-updated');

async function update(session: Session) {
  const { id } = await session.shared(toUpdate);
  return { id, answer: await session.call('PATCH', `${path}/${id}`, { form: { name: 'Changed' } }) };
}

const writing: Statement[] = [
  ...createStatements(creates, { what: 'POST /v1/user_grades', location: path, answer: gradeAnswer }),
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
  ...updateStatements(changes, { what: 'PATCH /v1/user_grades/:id', path, send: update }),
  ...parameterStatements(changes, {
    operation: 'PATCH /v1/user_grades/:id',
    parameters: [
      { name: 'name', value: 'Renamed', shownAs: 'name' },
      { name: 'icon_url', value: 'https://example.com/other.png', shownAs: 'icon_url', as: (found) => found !== null },
    ],
    write: async (session, _name, form) =>
      session.call('PATCH', `${path}/${(await session.shared(toUpdate)).id}`, { form }),
    read: async (session) => read(session, (await session.shared(toUpdate)).id),
  }),
  deletes('DELETE /v1/user_grades/:id answers 204', async (session) => {
    const { id } = await freshGrade(session, 'grade-deleted-204');
    statusIs(await session.call('DELETE', `${path}/${id}`), 204);
  }),
  deletes('DELETE /v1/user_grades/:id deletes it', async (session) => {
    const { id } = await freshGrade(session, 'grade-deleted');
    succeeds(await session.call('DELETE', `${path}/${id}`));
    await isGone(session, path, id);
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
  ...reading,
  ...writing,
  inSection('What the service does')(
    'grades are shown next to reviews',
    beyondReach('needs a look at the shop’s pages'),
  ),
];
