/**
 * The columns of `warehouse.reviews` that hold the field of a review with the same name (docs/interface.md, "Review"),
 * and their types. This is the only list of them: `land_reviews.sql` is filled in from it. Every other field of a
 * review goes to `extra`.
 */
export const reviewColumns = {
  id: 'bigint',
  code: 'text',
  display: 'boolean',
  user_id: 'bigint',
  user_code: 'text',
  user_name: 'text',
  message: 'text',
  score: 'smallint',
  created_at: 'timestamptz',
  updated_at: 'timestamptz',
  product_id: 'bigint',
  product_code: 'text',
  review_type: 'text',
  images_count: 'integer',
  videos_count: 'integer',
  likes_count: 'integer',
  plus_likes_count: 'integer',
  comments_count: 'integer',
  source: 'text',
  order_code: 'text',
  sub_order_code: 'text',
  store_order: 'boolean',
  store_name: 'text',
  third_party_name: 'text',
  sub_brand_id: 'bigint',
  tag_name: 'text',
  product_options: 'jsonb',
  images: 'jsonb',
  videos: 'jsonb',
  options: 'jsonb',
} as const;

/**
 * Fields that only lists show (`user_id`, `comments_count`) or only a review alone (`tag_name`; docs/interface.md,
 * "Review"). A response in which no record has such a field does not erase it. Any other field that is absent is none
 * (`third_party_name`, for example). In `extra` the same holds for each field. An id that is used for another review
 * after a deletion keeps nothing.
 */
export const partialFields: readonly string[] = ['user_id', 'comments_count', 'tag_name'];

const names = Object.keys(reviewColumns);

/** Columns whose field is none where a response lacks it. */
export const alwaysKnownFields = names.filter((name) => !partialFields.includes(name));

const changeable = [...names.filter((name) => name !== 'id'), 'extra'];

/**
 * The id names another review than the deleted one, of which the service keeps nothing. The creation date of a review
 * that is not deleted can be corrected (docs/interface.md, "Reviews").
 */
const isAnother = '(kept.deleted_at is not null and kept.created_at <> excluded.created_at)';

/**
 * The value of a column after a version that replaces the kept one. `$2` are the names of the fields that are shown.
 */
function newest(name: string): string {
  if (name === 'extra') return `case when ${isAnother} then '{}' else kept.extra - $2::text[] end || excluded.extra`;
  if (!partialFields.includes(name)) return `excluded.${name}`;
  return `case when ${isAnother} or '${name}' = any ($2::text[]) then excluded.${name} else kept.${name} end`;
}

/** What land_reviews.sql may name as `@name`; its head explains them. */
const lists: Readonly<Record<string, string>> = {
  columns: names.join(', '),
  typed_columns: Object.entries(reviewColumns)
    .map(([name, type]) => `${name} ${type}`)
    .join(', '),
  column_names: `'{${names.join(',')}}'::text[]`,
  assignments: changeable.map((name) => `${name} = ${newest(name)}`).join(', '),
  kept_values: changeable.map((name) => `kept.${name}`).join(', '),
  newest_values: changeable.map(newest).join(', '),
  is_another: isAnother,
};

/** Replaces `@columns` and the other lists, and leaves out the comments, which explain them. */
export const withReviewColumns = (statement: string): string =>
  statement
    .replaceAll(/^\s*--.*\n/gm, '')
    .replaceAll(/@([a-z_]+)/g, (placeholder, name: string) => lists[name] ?? placeholder);
