import { ensure, isSame, isSuccess, listOf, rowOf, show, statusIs, succeeds } from '../expect.ts';
import type { Params } from '../http.ts';
import { type FieldTable, fieldStatements } from '../kinds.ts';
import { type Parameter, parameterStatements } from '../parameters.ts';
import { codeOf, enter, noteId, post } from '../post.ts';
import {
  aCategory,
  anotherCategory,
  categoryAnswer,
  detailOf,
  freshCategory,
  fullestListed,
  isGone,
  listed,
} from '../records.ts';
import type { Session } from '../session.ts';
import { beyondReach, inSection, type Statement } from '../statement.ts';
import { codeIsRequired } from '../without-code.ts';
import { createStatements, updateStatements } from '../writes.ts';

const path = '/v1/categories';

const fields: FieldTable = [
  ['id', 'integer'],
  ['code', 'string', 'shop category code'],
  ['name', 'string'],
  ['depth', 'integer', 'nesting level'],
  ['parent_category_id', 'integer or null'],
  ['status', '`visible` or `hidden`'],
  ['created_at', 'datetime'],
  ['updated_at', 'datetime'],
];

const read = async (session: Session, id: unknown) => rowOf(await session.call('GET', `${path}/${id}`));
const detail = (session: Session) => detailOf(session, path, aCategory);
const parent = (session: Session) => freshCategory(session, 'parent');
const child = async (session: Session) =>
  freshCategory(session, 'child', { parent_category_id: String((await session.shared(parent)).id) });

const resource = inSection('Resources, Category');

const shapes: Statement[] = [
  ...fieldStatements({ section: 'Resources, Category', of: 'a category', fields, sample: detail }),
  ...fieldStatements({
    section: 'Resources, Category',
    of: 'a category of the list',
    fields,
    sample: async (session) => {
      if (!session.settings.readOnly) await session.shared(aCategory);
      return fullestListed(session, path);
    },
  }),
  ...fieldStatements({
    section: 'Resources, Category',
    of: 'the body returned by category creation',
    fields,
    sample: async (session) => rowOf(await session.shared(categoryAnswer)),
  }),
  resource('depth of a top level category is 1', async (session) =>
    isSame('depth', rowOf(await session.shared(categoryAnswer)).depth, 1),
  ),
  resource('depth of a category below a top level one is 2', async (session) => {
    isSame('depth', (await read(session, (await session.shared(child)).id)).depth, 2);
  }),
  resource('parent_category_id of a top level category is null', async (session) =>
    isSame('parent_category_id', rowOf(await session.shared(categoryAnswer)).parent_category_id, null),
  ),
];

const states = inSection('States and transitions, Category status');

const transitions: Statement[] = (['visible', 'hidden'] as const).flatMap((status) => [
  states(`create with status ${status} makes it ${status}`, async (session) => {
    const { id } = await freshCategory(session, `made-${status}`, { status });
    isSame('status', (await read(session, id)).status, status);
  }),
  states(`update with status ${status} makes it ${status}`, async (session) => {
    const { id } = await freshCategory(session, `set-${status}`, {
      status: status === 'visible' ? 'hidden' : 'visible',
    });
    succeeds(await session.call('PATCH', `${path}/${id}`, { form: { status } }));
    isSame('status', (await read(session, id)).status, status);
  }),
]);

const lists = inSection('Endpoints, Categories, List');
const getsById = inSection('Endpoints, Categories, Get by id');
const getsByCode = inSection('Endpoints, Categories, Get by code');

const reading: Statement[] = [
  lists('answers 200 with an array of categories', async (session) => {
    const rows = listOf(await session.call('GET', path));
    ensure(
      rows.every((row) => 'code' in row && 'depth' in row),
      show(rows[0]),
      'categories',
    );
  }),
  lists('limit: from 1, and that many items', async (session) => {
    if (!session.settings.readOnly) {
      await session.shared(aCategory);
      await session.shared(anotherCategory);
    }
    await fullestListed(session, path);
    isSame('items with limit=1', (await listed(session, path, { limit: 1 })).length, 1);
  }),
  getsById('GET /v1/categories/:id answers 200 with the category', async (session) => {
    const { id } = await session.shared(detail);
    const answer = await session.call('GET', `${path}/${id}`);
    statusIs(answer, 200);
    isSame('id', rowOf(answer).id, id);
  }),
  getsByCode('GET /v1/categories with code answers 200 with the category', async (session) => {
    const { id, code } = await session.shared(detail);
    const answer = await session.call('GET', path, { query: { code: String(code) } });
    statusIs(answer, 200);
    isSame('id', rowOf(answer).id, id);
  }),
];

const parentId = async (session: Session) => String((await session.shared(parent)).id);
const isNumber = (found: unknown, sent: unknown) => found === Number(sent);

const creates = inSection('Endpoints, Categories, Create or update');

const creation: Statement[] = [
  ...createStatements(creates, { what: 'POST /v1/categories', location: path, answer: categoryAnswer }),
  ...['code', 'name'].map((name) =>
    creates(`${name} is required`, async (session) => {
      const code = codeOf(session, `category-without-${name}`);
      const { [name]: _, ...form }: Params = { code, name: code };
      const made = enter(session, 'categories', code);
      const answer = await session.call('POST', path, { form });
      noteId(session, made, answer);
      ensure(!isSuccess(answer), answer.told, 'no category');
      session.ledger.splice(session.ledger.indexOf(made), 1);
    }),
  ),
  creates('code is unique among categories: the same code again updates the category', async (session) => {
    const first = await freshCategory(session, 'twice');
    const { id, name } = rowOf(await post(session, 'categories', 'twice', { name: 'Twice' }));
    isSame('id and name', [id, name], [first.id, 'Twice']);
    isSame('name read again', (await read(session, first.id)).name, 'Twice');
  }),
  ...parameterStatements(creates, {
    operation: 'POST /v1/categories',
    parameters: [
      { name: 'name', value: 'Conformance shoes', shownAs: 'name' },
      { name: 'parent_category_id', value: parentId, shownAs: 'parent_category_id', as: isNumber },
      { name: 'status', value: 'hidden', shownAs: 'status' },
    ],
    write: (session, name, params) => post(session, 'categories', `with-${name}`, { name: 'Conformance', ...params }),
    read: async (_session, answer) => rowOf(answer),
  }),
  creates('POST /v1/categories: parent_category_code is the code of the parent', async (session) => {
    const { id } = await session.shared(parent);
    const made = await freshCategory(session, 'by-code', { parent_category_code: codeOf(session, 'parent') });
    isSame('parent_category_id', made.parent_category_id, id);
  }),
];

const updatesById = inSection('Endpoints, Categories, Update by id');
const updatesByCode = inSection('Endpoints, Categories, Update by code');
const toUpdate = (session: Session) => freshCategory(session, 'updated');
const toUpdateByCode = (session: Session) => freshCategory(session, 'updated-by-code');

async function updateById(session: Session) {
  const { id } = await session.shared(toUpdate);
  return { id, answer: await session.call('PATCH', `${path}/${id}`, { form: { name: 'Changed' } }) };
}

async function updateByCode(session: Session) {
  const { id } = await session.shared(toUpdateByCode);
  const form = { code: codeOf(session, 'updated-by-code'), name: 'Changed' };
  return { id, answer: await session.call('PATCH', path, { form }) };
}

const updatable: readonly Parameter[] = [
  { name: 'name', value: 'Renamed', shownAs: 'name' },
  { name: 'parent_category_id', value: parentId, shownAs: 'parent_category_id', as: isNumber },
  { name: 'status', value: 'visible', shownAs: 'status' },
];

const updates: Statement[] = [
  ...updateStatements(updatesById, { what: 'PATCH /v1/categories/:id', path, send: updateById }),
  updatesById('PATCH /v1/categories/:id: code is shown as code', async (session) => {
    const { id } = await freshCategory(session, 'recoded');
    succeeds(await session.call('PATCH', `${path}/${id}`, { form: { code: codeOf(session, 'recoded-2') } }));
    isSame('code', (await read(session, id)).code, codeOf(session, 'recoded-2'));
  }),
  updatesById('code must stay unique', async (session) => {
    const { id } = await session.shared(toUpdate);
    const { code } = await session.shared(aCategory);
    await session.call('PATCH', `${path}/${id}`, { form: { code: String(code) } });
    ensure((await read(session, id)).code !== code, `two categories of code ${code}`, 'one');
  }),
  ...parameterStatements(updatesById, {
    operation: 'PATCH /v1/categories/:id',
    parameters: updatable,
    write: async (session, _name, form) =>
      session.call('PATCH', `${path}/${(await session.shared(toUpdate)).id}`, { form }),
    read: async (session) => read(session, (await session.shared(toUpdate)).id),
  }),
  ...updateStatements(updatesByCode, { what: 'PATCH /v1/categories', path, send: updateByCode }),
  ...parameterStatements(updatesByCode, {
    operation: 'PATCH /v1/categories',
    parameters: updatable,
    write: async (session, _name, params) => {
      await session.shared(toUpdateByCode);
      return session.call('PATCH', path, { form: { code: codeOf(session, 'updated-by-code'), ...params } });
    },
    read: async (session) => read(session, (await session.shared(toUpdateByCode)).id),
  }),
];

const deletes = inSection('Endpoints, Categories, Delete');

const deletions: Statement[] = [
  updatesByCode('code is required', codeIsRequired),
  deletes('DELETE /v1/categories: code is required', codeIsRequired),
  deletes('DELETE /v1/categories/:id deletes it', async (session) => {
    const { id } = await freshCategory(session, 'deleted');
    succeeds(await session.call('DELETE', `${path}/${id}`));
    await isGone(session, path, id);
  }),
  deletes('DELETE /v1/categories with its code deletes it', async (session) => {
    const { id } = await freshCategory(session, 'deleted-by-code');
    succeeds(await session.call('DELETE', path, { query: { code: codeOf(session, 'deleted-by-code') } }));
    await isGone(session, path, id);
  }),
];

export const categories: readonly Statement[] = [
  ...shapes,
  ...transitions,
  states('a hidden category is not displayed, a visible one is', beyondReach('needs a look at the shop’s pages')),
  ...reading,
  ...creation,
  ...updates,
  ...deletions,
];
