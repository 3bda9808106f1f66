import { changing, codedResource, listOperation } from './coded-resource.ts';
import { created, type Operation, one, removed, updated } from './operation.ts';
import { choice, filled, idText, type Params, text } from './params.ts';

const category: Params = {
  code: filled('Category code, unique among categories.'),
  name: filled('Name.'),
  parent_category_id: idText('Id of the parent category.'),
  parent_category_code: text('Code of the parent category.'),
  status: choice('Whether the category is displayed.', ['visible', 'hidden']),
};

/** Categories (docs/interface.md, "Categories"). */
export const categoryOperations: Operation[] = codedResource({
  path: '/v1/categories',
  tag: 'Categories',
  noun: 'category',
  item: 'Category',
  detail: 'Category',
  filters: {},
  creation: category,
  required: ['code', 'name'],
  changeById: category,
  changeByCode: category,
});

const path = '/v1/user_grades';
const tag = 'User grades';
const grade: Params = { name: filled('Name.'), icon_url: text('Address of its icon, 20px wide or 20px high.') };

/** Member grades (docs/interface.md, "User grades"). */
export const userGradeOperations: Operation[] = [
  listOperation({ id: 'listUserGrades', path, tag }, 'UserGrade'),
  {
    id: 'getUserGrade',
    method: 'GET',
    path: `${path}/:id`,
    tag,
    summary: 'Get',
    params: {},
    answers: { 200: one('UserGrade') },
  },
  {
    id: 'createUserGrade',
    method: 'POST',
    path,
    tag,
    summary: 'Create',
    params: grade,
    required: ['name'],
    answers: { 201: { ...created('UserGrade'), description: 'Created.' } },
  },
  ...changing.map(
    (method): Operation => ({
      id: method === 'PUT' ? 'putUserGrade' : 'updateUserGrade',
      method,
      path: `${path}/:id`,
      tag,
      summary: 'Update',
      params: grade,
      answers: { 204: updated },
    }),
  ),
  {
    id: 'deleteUserGrade',
    method: 'DELETE',
    path: `${path}/:id`,
    tag,
    summary: 'Delete',
    params: {},
    answers: { 204: removed },
  },
];
