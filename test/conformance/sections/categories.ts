import { isSame } from '../expect.ts';
import { codeOf, fullestListed, records } from '../records.ts';
import { type Resource, resourceStatements, shapesOf } from '../resource.ts';
import { once, type Session } from '../session.ts';
import { inSection, type Statement } from '../statement.ts';
import type { FieldTable, Parameter } from '../tables.ts';

const fields: FieldTable = [
  ['integer', 'id depth'],
  ['string', 'code name'],
  ['integer or null', 'parent_category_id'],
  ['`visible` or `hidden`', 'status'],
  ['datetime', 'created_at updated_at'],
];

const parent = once((session) => records.categories.fresh(session, 'parent'));
const parentId = async (session: Session) => String((await parent(session)).id);
const isNumber = (found: unknown, sent: unknown) => found === Number(sent);

const parameters: readonly Parameter[] = [
  { name: 'name', value: 'Renamed', shownAs: 'name' },
  { name: 'parent_category_id', value: parentId, shownAs: 'parent_category_id', as: isNumber },
  { name: 'status', value: 'visible', shownAs: 'status', note: '`visible`' },
  { name: 'status', value: 'hidden', shownAs: 'status', note: '`hidden`' },
];

export const category: Resource = {
  kind: 'categories',
  noun: 'category',
  called: 'a category',
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
  tables: {
    section: 'Resources, Category',
    alone: fields,
    listedSample: async (session) => {
      await records.categories.one(session);
      return fullestListed(session, '/v1/categories');
    },
  },
  required: async () => ({ name: 'Conformance' }),
  refusedWithout: ['code', 'name'],
  parameters: { create: parameters, update: parameters, updateByCode: parameters },
  text: { sent: 'name', shownAs: 'name' },
  mayChangeCode: true,
};

export const categories: readonly Statement[] = [
  ...shapesOf(category),
  inSection('Resources, Category')(
    'a top level category has depth 1 and no parent, one below it depth 2',
    async (session) => {
      const { id, depth, parent_category_id } = await parent(session);
      const below = await records.categories.fresh(session, 'child', { parent_category_id: String(id) });
      isSame('depth and parent', [depth, parent_category_id, below.depth], [1, null, 2]);
    },
  ),
  ...resourceStatements(category),
  inSection('Endpoints, Categories, Create or update')(
    'POST /v1/categories: parent_category_code is the code of the parent',
    async (session) => {
      const { id } = await parent(session);
      const made = await records.categories.fresh(session, 'by-code', {
        parent_category_code: codeOf(session, 'parent'),
      });
      isSame('parent_category_id', made.parent_category_id, id);
    },
  ),
];
