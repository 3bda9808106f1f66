import type { InferOutput } from 'valibot';
import type { Send } from '../http/call.ts';
import { integer, integerOrNull, record, text, textOrNull } from '../http/shape.ts';
import { listOperations, operationsByCode } from './resource.ts';

const path = '/v1/categories';

const category = record({
  id: integer,
  /** The shop's code. */
  code: text,
  name: textOrNull,
  /** Top level is 1. */
  depth: integerOrNull,
  /** Null at the top level. */
  parent_category_id: integerOrNull,
  /** `visible` or `hidden`. */
  status: textOrNull,
  created_at: textOrNull,
  updated_at: textOrNull,
});

/** A category (docs/interface.md, "Category"). Dates are ISO 8601 with offset. Other fields are kept unchanged. */
export type Category = InferOutput<typeof category>;

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

/** Product categories (docs/interface.md, "Categories"). */
export function categoriesApi(send: Send) {
  const resource = { path, shape: category, params: (patch: CategoryPatch) => patch };
  return {
    ...operationsByCode<Category, CategoryPatch, CategoryBody>(send, resource),
    // Page 1 is the default. It is not sent, because the spec shows no page parameter here.
    ...listOperations<Category>(send, resource, ({ page = 1 }) => ({ page: page === 1 ? undefined : page })),
  };
}
