import type { Params } from '../http/call.ts';
import { optionPairs } from '../http/encode.ts';
import { requireCode, requireId, requireScore } from './check.ts';

/** Fields of a review (docs/interface.md, "Reviews"). Dates are ISO 8601, significant to the second. */
export type ReviewFields = {
  /** The service's product id; may be left out where `product_code` is given. */
  product_id?: number | undefined;
  /** The shop's; may be left out where `product_id` is given. */
  product_code?: string | undefined;
  /** Option name to value. The service splits `<key>:<value>`: a name with a colon comes back split elsewhere. */
  product_options?: Readonly<Record<string, string>> | undefined;
  /** Writing time. */
  created_at?: string | undefined;
  /** Without HTML tags. */
  message?: string | undefined;
  /** 1 to 5. Left out: no rating. Null removes the rating (update by id only). */
  score?: number | null | undefined;
  /** The author's account in the shop; to be given for members. */
  user_code?: string | undefined;
  user_name?: string | undefined;
  /** At most 4. The service stores them later, so the response lacks them. */
  image_urls?: readonly string[] | undefined;
  /** Sent as 1 or 0; default displayed. */
  display?: boolean | undefined;
  /** Not for shops on the v2 additional-information model. */
  options?: readonly ReviewOptionInput[] | undefined;
};

/** One item of additional information; `created_at` is ISO 8601. */
export type ReviewOptionInput = {
  review_option_type_id: number;
  created_at: string;
  value: string;
  /** Unique. */
  code?: string | undefined;
};

/** Body of `POST /v1/reviews`. */
export type ReviewBody = Omit<ReviewFields, 'score'> & {
  /** The shop's unique identifier of the review. */
  code?: string | undefined;
  /** 1 to 5. Left out: no rating. */
  score?: number | undefined;
  /** Social origin address. */
  review_source_url?: string | undefined;
  tag_name?: string | undefined;
};

/** Fields to change, by id. A field that is left out stays unchanged. */
export type ReviewPatch = ReviewFields;

/** Fields to change, by code. Product options cannot be changed and a rating cannot be removed this way. */
export type ReviewPatchByCode = Omit<ReviewFields, 'score' | 'product_options'> & { score?: number | undefined };

/** Fields of a review as parameters. @throws TypeError for a value that the service would refuse or misread. */
export function reviewParams({ product_options, display, options, ...fields }: ReviewFields): Params {
  if ((fields.image_urls?.length ?? 0) > 4) throw new TypeError('expected at most 4 image_urls');
  if (fields.score !== undefined && fields.score !== null) requireScore(fields.score);
  if (fields.product_id !== undefined) requireId(fields.product_id, 'product_id');
  if (fields.product_code !== undefined) requireCode(fields.product_code, 'product_code');
  return {
    ...fields,
    product_options: optionPairs(product_options),
    display: display === undefined ? undefined : display ? 1 : 0,
    // A parser of the form begins a new item at the first repeated field, so the field that all items have comes first.
    options: options?.map(({ review_option_type_id, ...rest }) => ({ review_option_type_id, ...rest })),
  };
}

/** Parameters of an update. A form cannot express an empty list, so the service would silently change nothing. */
export function reviewPatchParams(patch: ReviewPatch): Params {
  for (const name of ['image_urls', 'options'] as const) {
    if (patch[name]?.length === 0) throw new TypeError(`expected ${name} with items: a list cannot be emptied`);
  }
  if (patch.product_options && Object.keys(patch.product_options).length === 0) {
    throw new TypeError('expected product_options with items: options cannot be emptied');
  }
  return reviewParams(patch);
}
