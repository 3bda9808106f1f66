import { type Context, fullestListed } from '../records.ts';
import { type Resource, resourceStatements, shapesOf } from '../resource.ts';
import * as is from '../statement.ts';
import type { Parameter } from '../tables.ts';

const parent = ({ fresh }: Context) => fresh('categories', 'parent');
const parentId = async ({ shared }: Context) => String((await shared(parent)).id);
const isNumber = (found: unknown, sent: unknown) => found === Number(sent);

const parameters: readonly Parameter[] = [
  { name: 'name', value: 'Renamed', shownAs: 'name' },
  { name: 'parent_category_id', value: parentId, shownAs: 'parent_category_id', as: isNumber },
  { name: 'status', value: 'visible', shownAs: 'status', note: '`visible`' },
  { name: 'status', value: 'hidden', shownAs: 'status', note: '`hidden`' },
];

export const category: Resource = {
  kind: 'categories',
  section: 'Endpoints, Categories',
  called: 'a category',
  fields: {
    section: 'Resources, Category',
    alone: [
      ['integer', 'id depth'],
      ['string', 'code name'],
      ['integer or null', 'parent_category_id'],
      ['`visible` or `hidden`', 'status'],
      ['datetime', 'created_at updated_at'],
    ],
  },
  listed: async (context) => {
    await context.one('categories');
    return fullestListed(context, '/v1/categories');
  },
  refusedWithout: ['code', 'name'],
  parameters: { create: parameters, update: parameters },
  text: { sent: 'name', shownAs: 'name' },
  mayChangeCode: true,
};

export const categories: readonly is.Statement[] = [
  ...shapesOf(category),
  is.inSection('Resources, Category')(
    'a top level category has depth 1 and no parent, one below it depth 2',
    async ({ fresh, shared }) => {
      const { id, depth, parent_category_id } = await shared(parent);
      const below = await fresh('categories', 'child', { parent_category_id: String(id) });
      is.isSame('depth and parent', [depth, parent_category_id, below.depth], [1, null, 2]);
    },
  ),
  ...resourceStatements(category),
  is.inSection(category.section)(
    'POST /v1/categories: parent_category_code is the code of the parent',
    async ({ code, fresh, shared }) => {
      const { id } = await shared(parent);
      const made = await fresh('categories', 'by-code', { parent_category_code: code('parent') });
      is.isSame('parent_category_id', made.parent_category_id, id);
    },
  ),
];

const path = '/v1/user_grades';

/** This run's grade in the list: it is on the last page, if the list tells which page is the last. */
async function listedGrade({ get, list, one }: Context) {
  const { id } = await one('user_grades');
  const first = await get(path, { limit: 100 });
  const { last: page = 1 } = is.pagesOf(first);
  const found = [...is.listOf(first), ...(await list(path, { limit: 100, page }))].find((row) => row.id === id);
  return is.needed(found, 'the grade made is neither on the first page nor on the last');
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
  section: 'Endpoints, User grades',
  called: 'a user grade',
  fields: {
    section: 'Resources, User grade',
    alone: [
      ['integer', 'id'],
      ['string', 'name icon_url'],
      ['datetime', 'created_at updated_at'],
    ],
  },
  listed: listedGrade,
  refusedWithout: ['name'],
  parameters: { create: [icon], update: [{ name: 'name', value: 'Renamed', shownAs: 'name' }, icon] },
  text: { sent: 'name', shownAs: 'name' },
  ofThisRun: () => ({}),
  deletesWith204: true,
};

export const userGrades: readonly is.Statement[] = [
  ...shapesOf(userGrade),
  ...resourceStatements(userGrade),
  is.inSection(userGrade.section)('no grade is on the page after the last one', async (context) => {
    const { get, list, one } = context;
    await one('user_grades');
    await fullestListed(context, path);
    const last = is.pageOf(await get(path, { limit: 1 }), 'last');
    is.isSame(`items on page ${last}`, (await list(path, { limit: 1, page: last })).length, 1);
    const { body } = await get(path, { limit: 1, page: last + 1 });
    is.ensure(!Array.isArray(body) || body.length === 0, `grades on page ${last + 1}, after the last`, 'none');
  }),
];
