import type { InferOutput } from 'valibot';
import * as v from 'valibot';
import {
  anyRecord,
  flagOrNull,
  integer,
  integerOrNull,
  list,
  listOrNone,
  options,
  record,
  shownText,
  text,
  textOrNull,
} from '../http/shape.ts';

const image = record({
  url: textOrNull,
  width: integerOrNull,
  height: integerOrNull,
  gallery_url: textOrNull,
  gallery_width: integerOrNull,
  gallery_height: integerOrNull,
  portrait_url: textOrNull,
  portrait_width: integerOrNull,
  portrait_height: integerOrNull,
  thumbnail_url: textOrNull,
  thumbnail_width: integerOrNull,
  thumbnail_height: integerOrNull,
});

/** One picture in four variants; sizes are in pixels (docs/interface.md, "Image"). */
export type ReviewImage = InferOutput<typeof image>;

const video = record({ hd_url: textOrNull, sd_url: textOrNull });

/**
 * Links to one video of full length, valid 7 days; a service may show one quality only (docs/interface.md, "Review").
 */
export type ReviewVideo = InferOutput<typeof video>;

const option = record({
  id: integer,
  review_id: integerOrNull,
  review_option_type_id: integerOrNull,
  value: textOrNull,
  /** In shops on the v2 additional-information model only. */
  option_type_name: shownText,
  /** In shops on the v2 additional-information model only. */
  value_text: shownText,
  created_at: textOrNull,
  updated_at: textOrNull,
});

/** One item of additional information (docs/interface.md, "Review option"); `'value_text' in option` tells v2 shops. */
export type ReviewOption = InferOutput<typeof option>;

export const review = record({
  id: integer,
  /** The shop's own identifier. */
  code: textOrNull,
  display: flagOrNull,
  /** In lists. */
  user_id: integerOrNull,
  user_code: textOrNull,
  user_name: textOrNull,
  message: textOrNull,
  /** 1 to 5; null without rating. */
  score: integerOrNull,
  created_at: textOrNull,
  updated_at: textOrNull,
  product_id: integerOrNull,
  product_code: textOrNull,
  /** An open set: `text`, `photo`, `video`, `video&photo` were seen. */
  review_type: textOrNull,
  images_count: integerOrNull,
  images: listOrNone(image),
  videos_count: integerOrNull,
  /** Links to short videos of at most 5 seconds, valid 7 days; to be removed by the service: use `videos`. */
  video_urls: listOrNone(text),
  videos: listOrNone(video),
  /** Helpful and not-helpful votes together. */
  likes_count: integerOrNull,
  /** Helpful votes only. */
  plus_likes_count: integerOrNull,
  /** In lists. */
  comments_count: integerOrNull,
  /** Null in lists, which do not have them. The spec does not describe their fields. */
  comments: v.nullish(list(anyRecord), null),
  /** An open set: `brand_pc`, `sms` were seen. */
  source: textOrNull,
  options: listOrNone(option),
  /** Option name to the value chosen at purchase; empty if the shop does not show it. */
  product_options: options,
  order_code: textOrNull,
  sub_order_code: textOrNull,
  /** Whether the order was one of an offline store. */
  store_order: flagOrNull,
  store_name: textOrNull,
  third_party_name: textOrNull,
  sub_brand_id: integerOrNull,
  tag_name: textOrNull,
});

/**
 * A review (docs/interface.md, "Review"). Dates are ISO 8601 with offset, to the millisecond. An absent field is null,
 * an absent list is empty. Fields beyond these are kept unchanged.
 */
export type Review = InferOutput<typeof review>;
