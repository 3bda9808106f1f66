import { ensure, isSame, isSuccess, rowOf, succeeds } from '../expect.ts';
import type { Params } from '../http.ts';
import { type FieldTable, fieldStatements } from '../kinds.ts';
import { type Parameter, parameterStatements } from '../parameters.ts';
import { codeOf, enter, noteId, post } from '../post.ts';
import { aCategory, anotherCategory, categoryAnswer, detailOf, freshCategory, fullestListed } from '../records.ts';
import { type Resource, resourceStatements } from '../resource.ts';
import type { Session } from '../session.ts';
import { beyondReach, inSection, type Statement } from '../statement.ts';

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

const common: Resource = {
  kind: 'categories',
  under: 'Endpoints, Categories',
  headings: {
    list: 'List',
    get: 'Get by id',
    getByCode: 'Get by code',
    create: 'Create or update',
    update: 'Update by id',
    updateByCode: 'Update by code',
    delete: 'Delete',
  },
  listFields: ['code', 'depth'],
  answer: categoryAnswer,
  one: aCategory,
  another: anotherCategory,
  fresh: freshCategory,
  required: async () => ({ name: 'Conformance' }),
  text: { sent: 'name', shownAs: 'name' },
  mayChangeCode: true,
};

const parentId = async (session: Session) => String((await session.shared(parent)).id);
const isNumber = (found: unknown, sent: unknown) => found === Number(sent);

const creates = inSection('Endpoints, Categories, Create or update');

const creation: Statement[] = [
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

const updatable: readonly Parameter[] = [
  { name: 'name', value: 'Renamed', shownAs: 'name' },
  { name: 'parent_category_id', value: parentId, shownAs: 'parent_category_id', as: isNumber },
  { name: 'status', value: 'visible', shownAs: 'status' },
];

const updates: Statement[] = [
  ...parameterStatements(updatesById, {
    operation: 'PATCH /v1/categories/:id',
    parameters: updatable,
    write: async (session, _name, form) =>
      session.call('PATCH', `${path}/${(await session.shared(toUpdate)).id}`, { form }),
    read: async (session) => read(session, (await session.shared(toUpdate)).id),
  }),
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

export const categories: readonly Statement[] = [
  ...shapes,
  ...transitions,
  states('a hidden category is not displayed, a visible one is', beyondReach('needs a look at the shop’s pages')),
  ...resourceStatements(common),
  ...creation,
  ...updates,
];
