import {
  asInteger,
  asIntegerOrNull,
  asObject,
  asText,
  nothing,
  parseJson,
  requireSameCode,
  textsOf,
} from './answer.ts';
import type { Answer, Send } from './call.ts';
import { requireCode, requireId, requireLimit, requirePage } from './check.ts';
import { allPages, type Page, readPage } from './pages.ts';

const path = '/v1/categories';

/** A category (spec, 'Category'). Dates are ISO 8601 with offset; fields beyond these are kept as they came. */
export type Category = {
  id: number;
  /** The shop's. */
  code: string;
  name: string | null;
  /** Top level is 1. */
  depth: number | null;
  /** Null at the top level. */
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

/** What an update may change. What is left out stays as it is. */
export type CategoryPatch = { [Field in Exclude<keyof CategoryBody, 'parent_category_code'>]?: CategoryBody[Field] };

/** Page size, 1 to 100, default 100. */
export type CategoryListAllParams = { limit?: number | undefined };

/** Page size and page, from 1. The spec shows no page parameter here; other lists have one. */
export type CategoryListParams = CategoryListAllParams & { page?: number | undefined };

export type Categories = ReturnType<typeof categories>;

/** Product categories (spec, 'Categories'). */
export function categories(send: Send) {
  const api = {
    /** One page of the categories (spec, 'Categories', List). */
    async list({ limit = 100, page = 1 }: CategoryListParams = {}): Promise<Page<Category>> {
      // Page 1 is what comes without saying so: a service without the parameter is asked only as specified.
      const params = { limit: requireLimit(limit), page: requirePage(page) === 1 ? undefined : page };
      return send({ method: 'GET', path, params }, readPage(asCategory));
    },

    /**
     * All pages of the categories, one request each.
     *
     * @throws MalformedAnswerError where the service knows no pages, and has more categories than one page holds.
     */
    listAll({ limit = 100 }: CategoryListAllParams = {}): AsyncGenerator<Page<Category>, void, undefined> {
      return allPages(path, limit, (page) => api.list({ limit, page }));
    },

    /** A category by the service's id (spec, 'Categories', Get by id). @throws NotFoundError */
    async get(id: number): Promise<Category> {
      return send({ method: 'GET', path: `${path}/${requireId(id)}` }, readCategory);
    },

    /** A category by the shop's code (spec, 'Categories', Get by code). @throws NotFoundError */
    async getByCode(code: string): Promise<Category> {
      return send({ method: 'GET', path, params: { code: requireCode(code) } }, (answer) => {
        const category = readCategory(answer);
        requireSameCode(category.code, code);
        return category;
      });
    },

    /** Creates the category or updates the one with this code (spec, 'Categories', Create or update): twice is no harm. */
    async upsert(body: CategoryBody): Promise<Category> {
      requireCode(body.code);
      return send({ method: 'POST', path, params: body }, readCategory);
    },

    /** Changes the fields given, the code too (spec, 'Categories', Update by id). @throws NotFoundError */
    async update(id: number, patch: CategoryPatch): Promise<void> {
      return send({ method: 'PATCH', path: `${path}/${requireId(id)}`, params: checked(patch) }, nothing);
    },

    /** Changes the fields given of the category with this code (spec, Update by code). @throws NotFoundError */
    async updateByCode(code: string, patch: Omit<CategoryPatch, 'code'>): Promise<void> {
      return send({ method: 'PATCH', path, params: { ...patch, code: requireCode(code) } }, nothing);
    },

    /** As `update`, by PUT: the fields stand in the address (spec, 'Update by PUT'). */
    async put(id: number, patch: CategoryPatch): Promise<void> {
      return send({ method: 'PUT', path: `${path}/${requireId(id)}`, params: checked(patch) }, nothing);
    },

    /** Deletes it (spec, 'Categories', Delete). One that is gone already is success. */
    async remove(id: number): Promise<void> {
      return send({ method: 'DELETE', path: `${path}/${requireId(id)}`, absentIsFine: true }, nothing);
    },

    /** As `remove`. */
    async removeByCode(code: string): Promise<void> {
      return send({ method: 'DELETE', path, params: { code: requireCode(code) }, absentIsFine: true }, nothing);
    },
  };
  return api;
}

function checked(patch: CategoryPatch): CategoryPatch {
  if (patch.code !== undefined) requireCode(patch.code);
  return patch;
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
