import type { CallOptions, HttpResponse, Send } from '../http/call.ts';
import {
  asInteger,
  asIntegerOrNull,
  asObject,
  asText,
  ignoreBody,
  parseJson,
  requireSameCode,
  textsOf,
  withSameId,
} from '../http/response-body.ts';
import { requireCode, requireId, requireLimit, requirePage } from './check.ts';
import { allPages, type Page, readPage } from './pages.ts';

const path = '/v1/categories';

/**
 * A category (docs/interface.md, "Category"). Dates are ISO 8601 with offset; fields beyond these are kept unchanged.
 */
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

/** Body of `POST /v1/categories`. The parent is given by id, as text, or by code. */
export type CategoryBody = {
  code: string;
  name: string;
  parent_category_id?: string | undefined;
  parent_category_code?: string | undefined;
  status?: 'visible' | 'hidden' | undefined;
};

/**
 * Fields to change. A field that is left out stays unchanged. A null parent is sent as an empty value; the spec does
 * not say whether that removes the parent, so read the category again.
 */
export type CategoryPatch = Omit<Partial<CategoryBody>, 'parent_category_code' | 'parent_category_id'> & {
  parent_category_id?: string | null | undefined;
};

/** Page size, 1 to 100, default 100. */
export type CategoryListAllParams = { limit?: number | undefined };

/** Page size and page, from 1. The spec shows no page parameter here; other lists have one. */
export type CategoryListParams = CategoryListAllParams & { page?: number | undefined };

export type Categories = ReturnType<typeof categoriesApi>;

/** Product categories (docs/interface.md, "Categories"). */
export function categoriesApi(send: Send) {
  const api = {
    /** One page of the categories. */
    async list({ limit = 100, page = 1 }: CategoryListParams = {}): Promise<Page<Category>> {
      // Page 1 is the default. It is not sent, because the spec shows no page parameter here.
      const params = { limit: requireLimit(limit), page: requirePage(page) === 1 ? undefined : page };
      return send({ method: 'GET', path, params }, readPage(asCategory));
    },

    /**
     * All pages of the categories, one request each.
     *
     * @throws MalformedResponseError where the service ignores the page parameter and has more categories than one page
     *   holds.
     */
    listAll({ limit = 100 }: CategoryListAllParams = {}): AsyncGenerator<Page<Category>, void, undefined> {
      return allPages(path, limit, (page) => api.list({ limit, page }));
    },

    /** A category by the service's id. @throws NotFoundError */
    async get(id: number, { giveUpAfterMs }: CallOptions = {}): Promise<Category> {
      return send({ method: 'GET', path: `${path}/${requireId(id)}`, giveUpAfterMs }, (response) =>
        withSameId(readCategory(response), id),
      );
    },

    /** A category by the shop's code. @throws NotFoundError */
    async getByCode(code: string): Promise<Category> {
      return send({ method: 'GET', path, params: { code: requireCode(code) } }, (response) => withCode(response, code));
    },

    /** Creates the category, or updates the category with this code. Safe to repeat. */
    async upsert(body: CategoryBody, { giveUpAfterMs }: CallOptions = {}): Promise<Category> {
      requireCode(body.code);
      return send({ method: 'POST', path, params: body, giveUpAfterMs }, (response) => withCode(response, body.code));
    },

    /** Changes these fields, the code included. @throws NotFoundError */
    async update(id: number, patch: CategoryPatch, { giveUpAfterMs }: CallOptions = {}): Promise<void> {
      const params = checked(patch);
      return send({ method: 'PATCH', path: `${path}/${requireId(id)}`, params, giveUpAfterMs }, ignoreBody);
    },

    /** Changes these fields of the category with this code. @throws NotFoundError */
    async updateByCode(code: string, patch: Omit<CategoryPatch, 'code'>): Promise<void> {
      return send({ method: 'PATCH', path, params: { ...patch, code: requireCode(code) } }, ignoreBody);
    },

    /** As `update`, by PUT. The fields are part of the address. */
    async put(id: number, patch: CategoryPatch): Promise<void> {
      return send({ method: 'PUT', path: `${path}/${requireId(id)}`, params: checked(patch) }, ignoreBody);
    },

    /** Deletes a category. One that does not exist is a success. */
    async remove(id: number): Promise<void> {
      return send({ method: 'DELETE', path: `${path}/${requireId(id)}`, notFoundIsSuccess: true }, ignoreBody);
    },

    /** As `remove`. */
    async removeByCode(code: string): Promise<void> {
      return send({ method: 'DELETE', path, params: { code: requireCode(code) }, notFoundIsSuccess: true }, ignoreBody);
    },
  };
  return api;
}

function checked(patch: CategoryPatch): CategoryPatch {
  if (patch.code !== undefined) requireCode(patch.code);
  return patch;
}

const readCategory = (response: HttpResponse) => asCategory(parseJson(response));

/** The category, which was requested or written by its code. */
function withCode(response: HttpResponse, code: string): Category {
  const category = readCategory(response);
  requireSameCode(category.code, code);
  return category;
}

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
