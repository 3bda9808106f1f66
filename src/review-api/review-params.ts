import type { Params } from './call.ts';
import { requireCode, requireLimit } from './check.ts';
import { optionPairs } from './encode.ts';

/** What to list (spec, 'List reviews'). At most 45 days from `start` to `end`. */
export type ReviewPageParams = {
  /** Which date `start` and `end` are about. */
  axis: 'created' | 'updated';
  /** `yyyy-mm-dd hh:mm:ss` in the service's zone, inclusive. */
  start: string;
  end: string;
  /** Page size, 1 to 100. */
  limit: number;
  /** 1 to 5; 0 for reviews without rating. */
  score?: number | undefined;
  /** Newest first. */
  desc?: boolean | undefined;
  productId?: number | undefined;
  productCode?: string | undefined;
  userCode?: string | undefined;
  categoryId?: number | undefined;
  categoryCode?: string | undefined;
  /** Photo reviews only. */
  photo?: boolean | undefined;
  tagName?: string | undefined;
  thirdPartyName?: string | undefined;
  subBrandId?: number | undefined;
  subBrandCode?: string | undefined;
};

/** Fields of a review (spec, 'Create or update a review'). Dates are ISO 8601. */
export type ReviewFields = {
  product_id?: number | undefined;
  product_code?: string | undefined;
  product_options?: Readonly<Record<string, string>> | undefined;
  created_at?: string | undefined;
  message?: string | undefined;
  /** 1 to 5; left out, the review has no rating; null takes the rating away (update by id only). */
  score?: number | null | undefined;
  user_code?: string | undefined;
  user_name?: string | undefined;
  /** At most 4; stored later, so not in the answer. */
  image_urls?: readonly string[] | undefined;
  display?: boolean | undefined;
  /** Not for shops on the v2 additional-information model. */
  options?: readonly ReviewOptionInput[] | undefined;
};

/** One item of additional information. */
export type ReviewOptionInput = { review_option_type_id: number; created_at: string; value: string; code?: string };

export type ReviewBody = ReviewFields & {
  code?: string | undefined;
  score?: number | undefined;
  /** Social origin address. */
  review_source_url?: string | undefined;
  tag_name?: string | undefined;
};

const dateTime = /^\d{4}-\d{2}-\d{2} \d{2}:\d{2}:\d{2}$/;

/** The query of a list. An empty filter is refused: it would be read as none. */
export function listParams(params: ReviewPageParams, page: number): Params {
  for (const time of [params.start, params.end]) {
    if (!dateTime.test(time)) throw new TypeError(`expected yyyy-mm-dd hh:mm:ss, got ${JSON.stringify(time)}`);
  }
  if (!Number.isInteger(page) || page < 1) throw new TypeError(`expected a page from 1 on, got ${page}`);
  const filter = (value: string | undefined, what: string) =>
    value === undefined ? undefined : requireCode(value, what);
  return {
    start_datetime: params.start,
    end_datetime: params.end,
    date_updated_at: params.axis === 'updated' ? 1 : undefined,
    date_order_desc: params.desc ? 1 : undefined,
    limit: requireLimit(params.limit),
    page,
    score: params.score,
    product_id: params.productId,
    product_code: filter(params.productCode, 'productCode'),
    user_code: filter(params.userCode, 'userCode'),
    category_id: params.categoryId,
    category_code: filter(params.categoryCode, 'categoryCode'),
    photo: params.photo ? 1 : undefined,
    tag_name: filter(params.tagName, 'tagName'),
    third_party_name: filter(params.thirdPartyName, 'thirdPartyName'),
    sub_brand_id: params.subBrandId,
    sub_brand_code: filter(params.subBrandCode, 'subBrandCode'),
  };
}

/** A review's fields as form parameters. */
export function reviewParams({ product_options, display, options, ...fields }: ReviewFields): Params {
  if ((fields.image_urls?.length ?? 0) > 4) throw new TypeError('expected at most 4 image_urls');
  return {
    ...fields,
    product_options: optionPairs(product_options),
    display: display === undefined ? undefined : display ? 1 : 0,
    // The field that all items have goes first: a reader of the form begins a new item at the first repeated field.
    options: options?.map(({ review_option_type_id, ...rest }) => ({ review_option_type_id, ...rest })),
  };
}
