import {
  asArray,
  asBooleanOrNull,
  asInteger,
  asObject,
  asText,
  integersOf,
  type JsonObject,
  textsOf,
} from '../http/response-body.ts';
import { asOptions } from './order-shapes.ts';

const imageAddresses = ['url', 'gallery_url', 'portrait_url', 'thumbnail_url'] as const;
const imageSizes = [
  ...(['width', 'height', 'gallery_width', 'gallery_height'] as const),
  ...(['portrait_width', 'portrait_height', 'thumbnail_width', 'thumbnail_height'] as const),
] as const;

/** One picture in four variants; sizes are in pixels (docs/interface.md, "Image"). */
export type ReviewImage = Record<(typeof imageAddresses)[number], string | null> &
  Record<(typeof imageSizes)[number], number | null>;

/**
 * Links to one video of full length, valid 7 days; a service may show one quality only (docs/interface.md, "Review").
 */
export type ReviewVideo = { hd_url: string | null; sd_url: string | null };

/** One item of additional information, in its default form (docs/interface.md, "Review option"). */
export type ReviewOptionDefault = {
  id: number;
  review_id: number | null;
  review_option_type_id: number | null;
  value: string | null;
  created_at: string | null;
  updated_at: string | null;
};

/** The same in shops on the v2 additional-information model. */
export type ReviewOptionV2 = ReviewOptionDefault & { option_type_name: string | null; value_text: string | null };

/** Either form; `'value_text' in option` distinguishes them. */
export type ReviewOption = ReviewOptionDefault | ReviewOptionV2;

/**
 * A review (docs/interface.md, "Review"). Dates are ISO 8601 with offset, to the millisecond. An absent field is null,
 * an absent list is empty. Fields beyond these are kept unchanged.
 */
export type Review = {
  id: number;
  /** The shop's own identifier. */
  code: string | null;
  display: boolean | null;
  /** In lists. */
  user_id: number | null;
  user_code: string | null;
  user_name: string | null;
  message: string | null;
  /** 1 to 5; null without rating. */
  score: number | null;
  created_at: string | null;
  updated_at: string | null;
  product_id: number | null;
  product_code: string | null;
  /** An open set: `text`, `photo`, `video`, `video&photo` were seen. */
  review_type: string | null;
  images_count: number | null;
  images: ReviewImage[];
  videos_count: number | null;
  /** Links to short videos of at most 5 seconds, valid 7 days; to be removed by the service: use `videos`. */
  video_urls: string[];
  videos: ReviewVideo[];
  /** Helpful and not-helpful votes together. */
  likes_count: number | null;
  /** Helpful votes only. */
  plus_likes_count: number | null;
  /** In lists. */
  comments_count: number | null;
  /** Null in lists, which do not have them. The spec does not describe their fields. */
  comments: JsonObject[] | null;
  /** An open set: `brand_pc`, `sms` were seen. */
  source: string | null;
  options: ReviewOption[];
  /** Option name to the value chosen at purchase; empty where the shop does not show it. */
  product_options: Record<string, string>;
  order_code: string | null;
  sub_order_code: string | null;
  /** Whether the order was one of an offline store. */
  store_order: boolean | null;
  store_name: string | null;
  third_party_name: string | null;
  sub_brand_id: number | null;
  tag_name: string | null;
};

/** Checks a review. Internal: throws `ShapeError`, which names the field and not its content. */
export function asReview(value: unknown): Review {
  const review = asObject(value, 'a review');
  const { comments } = review;
  return {
    ...review,
    id: asInteger(review.id, 'id'),
    ...textsOf(review, ['code', 'user_code', 'user_name', 'message', 'created_at', 'updated_at', 'product_code']),
    ...textsOf(review, ['review_type', 'source', 'order_code', 'sub_order_code', 'store_name', 'third_party_name']),
    ...textsOf(review, ['tag_name']),
    ...integersOf(review, ['user_id', 'score', 'product_id', 'images_count', 'videos_count', 'likes_count']),
    ...integersOf(review, ['plus_likes_count', 'comments_count', 'sub_brand_id']),
    display: asBooleanOrNull(review.display, 'display'),
    store_order: asBooleanOrNull(review.store_order, 'store_order'),
    images: listOf(review.images, 'images', asImage),
    video_urls: listOf(review.video_urls, 'video_urls', asText),
    videos: listOf(review.videos, 'videos', asVideo),
    options: listOf(review.options, 'options', asOption),
    product_options: asOptions(review.product_options, 'product_options'),
    comments: comments === null || comments === undefined ? null : listOf(comments, 'comments', asObject),
  };
}

function asImage(value: unknown, what: string): ReviewImage {
  const image = asObject(value, what);
  return { ...image, ...textsOf(image, imageAddresses), ...integersOf(image, imageSizes) };
}

function asVideo(value: unknown, what: string): ReviewVideo {
  const video = asObject(value, what);
  return { ...video, ...textsOf(video, ['hd_url', 'sd_url']) };
}

function asOption(value: unknown, what: string): ReviewOption {
  const option = asObject(value, what);
  const isV2 = 'option_type_name' in option || 'value_text' in option;
  return {
    ...option,
    id: asInteger(option.id, `${what}.id`),
    ...integersOf(option, ['review_id', 'review_option_type_id']),
    ...textsOf(option, ['value', 'created_at', 'updated_at']),
    ...(isV2 && textsOf(option, ['option_type_name', 'value_text'])),
  };
}

function listOf<Item>(value: unknown, what: string, shape: (item: unknown, what: string) => Item): Item[] {
  if (value === null || value === undefined) return [];
  return asArray(value, what).map((item) => shape(item, what));
}
