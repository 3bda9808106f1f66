import { asInteger, asIntegerOrNull, asObject, asText, nothing, parseJson, requireSameCode } from './answer.ts';
import type { Answer, Send } from './call.ts';
import { requireCode, requireId, requireLimit } from './check.ts';
import { textsOf } from './order-shapes.ts';
import { allPages, type Page, readPage } from './pages.ts';

const path = '/v1/categories';

export type Category = {
  id: number;
  code: string;
  name: string | null;
  /** Top level is 1. */
  depth: number | null;
  parent_category_id: number | null;
  /** `visible` or `hidden`. */
  status: string | null;
  created_at: string | null;
  updated_at: string | null;
};

/** Body of `POST /v1/categories`. The parent is named by id or by code; its id goes as text (spec). */
export type CategoryBody = {
  code: string;
  name: string;
  parent_category_id?: string | undefined;
  parent_category_code?: string | undefined;
  status?: 'visible' | 'hidden' | undefined;
};

export type CategoryPatch = { [Field in Exclude<keyof CategoryBody, 'parent_category_code'>]?: CategoryBody[Field] };

/** `limit`: page size, 1 to 100, default 100. The spec shows no page parameter here; other lists have one. */
export type CategoryListParams = { limit?: number; page?: number };

export type Categories = ReturnType<typeof categories>;

export function categories(send: Send) {
  const api = {
    async list({ limit = 100, page }: CategoryListParams = {}): Promise<Page<Category>> {
      // Page 1 is what comes without saying so: a service without the parameter is asked only as specified.
      const params = { limit: requireLimit(limit), page: page === 1 ? undefined : page };
      return send({ method: 'GET', path, params }, readPage(asCategory));
    },

    listAll({ limit = 100 }: { limit?: number } = {}): AsyncGenerator<Page<Category>, void, undefined> {
      return allPages(path, limit, (page) => api.list({ limit, page }));
    },

    async get(id: number): Promise<Category> {
      return send({ method: 'GET', path: `${path}/${requireId(id)}` }, readCategory);
    },

    async getByCode(code: string): Promise<Category> {
      return send({ method: 'GET', path, params: { code: requireCode(code) } }, (answer) => {
        const category = readCategory(answer);
        requireSameCode(category.code, code);
        return category;
      });
    },

    /** Creates the category or updates the one with this code: sending it twice does no harm. */
    async upsert(body: CategoryBody): Promise<Category> {
      requireCode(body.code);
      return send({ method: 'POST', path, params: body }, readCategory);
    },

    async update(id: number, patch: CategoryPatch): Promise<void> {
      if (patch.code !== undefined) requireCode(patch.code);
      return send({ method: 'PATCH', path: `${path}/${requireId(id)}`, params: patch }, nothing);
    },

    async updateByCode(code: string, patch: Omit<CategoryPatch, 'code'>): Promise<void> {
      return send({ method: 'PATCH', path, params: { ...patch, code: requireCode(code) } }, nothing);
    },

    async remove(id: number): Promise<void> {
      return send({ method: 'DELETE', path: `${path}/${requireId(id)}`, absentIsFine: true }, nothing);
    },

    async removeByCode(code: string): Promise<void> {
      return send({ method: 'DELETE', path, params: { code: requireCode(code) }, absentIsFine: true }, nothing);
    },
  };
  return api;
}

const readCategory = (answer: Answer) => asCategory(parseJson(answer));

function asCategory(value: unknown): Category {
  const category = asObject(value, 'a category');
  return {
    ...category,
    id: asInteger(category.id, 'id'),
    code: asText(category.code, 'code'),
    depth: asIntegerOrNull(category.depth, 'depth'),
    parent_category_id: asIntegerOrNull(category.parent_category_id, 'parent_category_id'),
    ...textsOf(category, ['name', 'status', 'created_at', 'updated_at']),
  };
}
