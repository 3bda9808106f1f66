import type { Schema } from './params.ts';

/** An object with these fields and no other; those after `optional` may be missing. */
function shape(properties: Readonly<Record<string, Schema>>, optional: Readonly<Record<string, Schema>> = {}): Schema {
  return {
    type: 'object',
    properties: { ...properties, ...optional },
    required: Object.keys(properties),
    additionalProperties: false,
  };
}

const integer: Schema = { type: 'integer' };
const count: Schema = { type: 'integer', minimum: 0 };
const id: Schema = { type: 'integer', minimum: 1 };
const text: Schema = { type: 'string' };
const boolean: Schema = { type: 'boolean' };
const number: Schema = { type: 'number' };
/**
 * "ISO 8601 date-times with millisecond precision and a numeric UTC offset" (docs/interface.md, "What the service
 * does", 3).
 */
const time: Schema = {
  type: 'string',
  format: 'date-time',
  pattern: '^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d\\.\\d{3}[+-]\\d\\d:\\d\\d$',
};
const orNull = (schema: Schema): Schema => ({ ...schema, type: [schema.type, 'null'] });
const listOf = (items: Schema): Schema => ({ type: 'array', items });
const ref = (name: string): Schema => ({ $ref: `#/components/schemas/${name}` });
const texts: Schema = { type: 'object', additionalProperties: { type: 'string' } };

const dates = { created_at: time, updated_at: time };

const imageSizes = ['', 'gallery_', 'portrait_', 'thumbnail_'].flatMap((variant) => [
  [`${variant}width`, count],
  [`${variant}height`, count],
]);

const reviewFields = {
  id,
  code: orNull(text),
  display: boolean,
  user_id: integer,
  user_code: orNull(text),
  user_name: orNull(text),
  message: text,
  score: { type: ['integer', 'null'], minimum: 1, maximum: 5 },
  ...dates,
  product_id: orNull(id),
  product_code: orNull(text),
  review_type: { type: 'string', examples: ['text', 'photo', 'video', 'video&photo'] },
  images_count: count,
  images: listOf(ref('Image')),
  videos_count: count,
  video_urls: listOf(text),
  videos: listOf(ref('Video')),
  likes_count: count,
  plus_likes_count: count,
  source: text,
  options: { type: 'array', items: { oneOf: [ref('ReviewOption'), ref('ReviewOptionV2')] } },
  order_code: orNull(text),
  sub_order_code: orNull(text),
  store_order: boolean,
  store_name: orNull(text),
};
const sometimes = { product_options: texts, third_party_name: text, sub_brand_id: id };

const reviewOption = { id, review_id: id, review_option_type_id: id, value: text, ...dates };

const subOrder = {
  id,
  product_id: id,
  product_options: texts,
  price: ref('Money'),
  status: text,
  delivery_started_at: orNull(time),
  delivered_at: orNull(time),
  invoice: orNull(text),
  delivery_service: text,
  ...dates,
  reviews_count: count,
};

/** Everything the service answers with, by name (docs/interface.md, "Resources and their fields"). */
export const shapes: Readonly<Record<string, Schema>> = {
  Money: shape({ cents: integer, currency_iso: text }),
  OrderListItem: shape({
    id,
    code: text,
    total_price: ref('Money'),
    user_code: orNull(text),
    user_email: orNull(text),
    username: orNull(text),
    paid_at: time,
    updated_at: time,
    sub_orders: listOf(ref('SubOrderListItem')),
  }),
  SubOrderListItem: shape({ id, product_id: id, product_code: orNull(text), status: text }),
  Order: shape({
    id,
    code: text,
    user_code: orNull(text),
    user_email: orNull(text),
    username: orNull(text),
    phone: orNull(text),
    total_price: ref('Money'),
    sub_orders: listOf(ref('SubOrder')),
    ...dates,
  }),
  SubOrder: shape(subOrder),
  Category: shape({
    id,
    code: text,
    name: text,
    depth: { type: 'integer', minimum: 1 },
    parent_category_id: orNull(id),
    status: { type: 'string', enum: ['visible', 'hidden'] },
    ...dates,
  }),
  UserGrade: shape({ id, name: text, icon_url: orNull(text), ...dates }),
  Review: shape({ ...reviewFields, comments: listOf({ type: 'object' }), tag_name: orNull(text) }, sometimes),
  ReviewListItem: shape({ ...reviewFields, comments_count: count }, sometimes),
  Image: shape({
    url: text,
    gallery_url: text,
    portrait_url: text,
    thumbnail_url: text,
    ...Object.fromEntries(imageSizes),
  }),
  Video: shape({ sd_url: text }, { hd_url: text }),
  ReviewOption: shape(reviewOption),
  ReviewOptionV2: shape({ ...reviewOption, option_type_name: text, value_text: text }),
  ReviewOverview: shape({ first_review_created_at: orNull(time), last_review_created_at: orNull(time) }),
  Token: { ...shape({ access_token: text }, { token_type: text, expires_in: integer }), additionalProperties: true },
  Error: shape({ error: text, errors: listOf(text) }),
  ProductSummary: shape({
    id,
    code: orNull(text),
    reviews_count: count,
    score: orNull(number),
    meta_reviews_count: count,
    meta_score: orNull(number),
  }),
  Change: shape({ id, updated_at: time }),
};
