import { isRecord, storableRecord } from '../../base/json-text.ts';

/** Columns with the author's words, or that lead to the author. `forget` empties them. */
export const authorColumns = {
  code: 'text',
  user_id: 'bigint',
  user_code: 'text',
  user_name: 'text',
  message: 'text',
  order_code: 'text',
  sub_order_code: 'text',
  product_options: 'jsonb',
  images: 'jsonb',
  videos: 'jsonb',
  options: 'jsonb',
} as const;

/**
 * The columns of `warehouse.reviews` that hold the review field of the same name (docs/interface.md, "Review"), and
 * their types. This is the only list of them: `land_reviews.sql` is filled in from it. Other fields go to `extra`.
 */
export const reviewColumns = {
  id: 'bigint',
  display: 'boolean',
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
  store_order: 'boolean',
  store_name: 'text',
  third_party_name: 'text',
  sub_brand_id: 'bigint',
  tag_name: 'text',
  ...authorColumns,
} as const;

/**
 * Fields that a list does not show (docs/interface.md, "Review"), so a list erases neither of them. For any other
 * field, also in `extra`, the newest list shows whether the review has it.
 */
export const notInLists: readonly string[] = ['comments', 'comments_count'];

/**
 * Fields that a review may lack although others have them (docs/interface.md, "Review"). Settings of the shop decide
 * whether its reviews have `product_options` and `sub_brand_id`.
 */
const mayBeAbsent: readonly string[] = ['third_party_name', 'tag_name', ...notInLists];

const names = Object.keys(reviewColumns);
const alwaysShown = names.filter((name) => !mayBeAbsent.includes(name));

/** Whether the column of this field keeps its values if no record of a response has the field. */
export const isAlwaysShown = (field: string) => alwaysShown.includes(field);

const notText = Object.entries(reviewColumns).flatMap(([name, type]) => (/int|bool|time/.test(type) ? [name] : []));

/** `storableRecord` without texts that number, boolean and date columns refuse: `"4.0"`, and an empty text for no value. */
export const storableReview = (bytes: Buffer): string | undefined =>
  storableRecord(bytes, (review) => {
    if (!isRecord(review)) return;
    for (const name of notText) {
      const value = review[name];
      if (typeof value === 'string') review[name] = value.replace(/^(\d+)\.0+$/, '$1') || null;
    }
  });

const butId = names.filter((name) => name !== 'id');

const lackingOf = (columns: readonly string[], records: readonly object[]): string[] =>
  records.length === 0 ? [] : columns.filter((name) => !records.some((record) => name in record));

/**
 * The columns that no record of a list page has, although the interface always shows them. The service leaves the field
 * out of its responses, so its absence does not mean that the reviews have lost it.
 */
export const lackingInList = (records: readonly object[]): string[] => lackingOf(alwaysShown, records);

/** `lackingInList` for a review by its id, which does not show tags either (docs/interface.md, "Review"). */
export const lackingAlone = (record: object): string[] => lackingOf([...alwaysShown, 'tag_name'], [record]);

const changeable = [...butId, 'extra'];

/**
 * The part of a column's value that is compared. Links to videos are valid for seven days, so only their number is
 * compared until the stored links are about to expire. If `video_urls` is not an array, it counts as one link. Links to
 * images may also have a signature after their `?`.
 */
function compared(name: string, value: string): string {
  const isFresh = `kept.synced_at > now() - interval '6 days'`;
  if (name === 'videos')
    return `case when ${isFresh} and jsonb_typeof(${value}) = 'array' then to_jsonb(jsonb_array_length(${value})) else ${value} end`;
  if (name === 'images') {
    const unsigned = `to_jsonb(regexp_replace((${value})::text, '[?][^"]*"', '"', 'g'))`;
    return `case when ${isFresh} and kept.images <> excluded.images then ${unsigned} else ${value} end`;
  }
  if (name !== 'extra') return value;
  const number = `jsonb_path_query_array(${value}, '$.video_urls.size()')`;
  return `case when ${isFresh} then (${value}) - 'video_urls' || jsonb_build_object('video_urls', ${number}) else ${value} end`;
}

const withoutValue: Readonly<Record<string, string>> = {
  score: 'nullif(r.score, 0)',
  updated_at: 'coalesce(r.updated_at, r.created_at)',
};

/**
 * The value of a column after this version: `r` is the record, `old` the row before. `$4` are the columns that stay
 * (`lackingInList`, `lackingAlone`). A service without a value may show zero as the score (docs/interface.md, "Reviews"),
 * an empty text as a code or a name, and no update of a review that was never changed.
 */
function newest(name: string): string {
  const isText = reviewColumns[name as keyof typeof reviewColumns] === 'text' && name !== 'message';
  const shown = withoutValue[name] ?? (isText ? `nullif(r.${name}, '')` : `r.${name}`);
  const isKept = `'${name}' = any ($4::text[])${notInLists.includes(name) ? ` or r.${name} is null` : ''}`;
  return `case when ${isKept} then old.${name} else ${shown} end`;
}

const each = (columns: readonly string[], text: (name: string) => string) =>
  columns.map((name) => `${text(name)}, `).join('');

/** The lists that land_reviews.sql names in its comments. Its head explains them. */
export const reviewLists: Readonly<Record<string, string>> = {
  columns: each(butId, (name) => name),
  typed_columns: butId.map((name) => `, ${name} ${reviewColumns[name as keyof typeof reviewColumns]}`).join(''),
  newest_values: each(butId, newest),
  column_names: butId.map((name) => `, '${name}'`).join(''),
  assignments: each(changeable, (name) => `${name} = excluded.${name}`),
  kept_values: each(changeable, (name) => compared(name, `kept.${name}`)),
  landing_values: each(changeable, (name) => compared(name, `excluded.${name}`)),
};
