import * as v from 'valibot';
import * as s from '../http/shape.ts';

const image = s.record({
  url: s.textOrNull,
  width: s.integerOrNull,
  height: s.integerOrNull,
  gallery_url: s.textOrNull,
  gallery_width: s.integerOrNull,
  gallery_height: s.integerOrNull,
  portrait_url: s.textOrNull,
  portrait_width: s.integerOrNull,
  portrait_height: s.integerOrNull,
  thumbnail_url: s.textOrNull,
  thumbnail_width: s.integerOrNull,
  thumbnail_height: s.integerOrNull,
});

/** One picture in four variants; sizes are in pixels (docs/interface.md, "Image"). */
export type ReviewImage = v.InferOutput<typeof image>;

const video = s.record({ hd_url: s.textOrNull, sd_url: s.textOrNull });

/**
 * Links to one video of full length, valid 7 days; a service may show one quality only (docs/interface.md, "Review").
 */
export type ReviewVideo = v.InferOutput<typeof video>;

const option = s.record({
  id: s.integer,
  review_id: s.integerOrNull,
  review_option_type_id: s.integerOrNull,
  value: s.textOrNull,
  /** In shops on the v2 additional-information model only. */
  option_type_name: s.shownText,
  /** In shops on the v2 additional-information model only. */
  value_text: s.shownText,
  created_at: s.textOrNull,
  updated_at: s.textOrNull,
});

/** One item of additional information (docs/interface.md, "Review option"); `'value_text' in option` tells v2 shops. */
export type ReviewOption = v.InferOutput<typeof option>;

export const review = s.record({
  id: s.integer,
  /** The shop's own identifier. */
  code: s.textOrNull,
  display: s.flagOrNull,
  /** In lists. */
  user_id: s.integerOrNull,
  user_code: s.textOrNull,
  user_name: s.textOrNull,
  message: s.textOrNull,
  /** 1 to 5; null without rating. */
  score: s.integerOrNull,
  created_at: s.textOrNull,
  updated_at: s.textOrNull,
  product_id: s.integerOrNull,
  product_code: s.textOrNull,
  /** An open set: `text`, `photo`, `video`, `video&photo` were seen. */
  review_type: s.textOrNull,
  images_count: s.integerOrNull,
  images: s.listOrNone(image),
  videos_count: s.integerOrNull,
  /** Links to short videos of at most 5 seconds, valid 7 days; the service will remove the field: use `videos`. */
  video_urls: s.listOrNone(s.text),
  videos: s.listOrNone(video),
  /** Helpful and not-helpful votes together. */
  likes_count: s.integerOrNull,
  /** Helpful votes only. */
  plus_likes_count: s.integerOrNull,
  /** In lists. */
  comments_count: s.integerOrNull,
  /** Null in lists. The spec does not describe the fields of comments. */
  comments: v.nullish(s.list(s.anyRecord), null),
  /** An open set: `brand_pc`, `sms` were seen. */
  source: s.textOrNull,
  options: s.listOrNone(option),
  /** Option name to the value chosen at purchase; empty if the shop does not show it. */
  product_options: s.options,
  order_code: s.textOrNull,
  sub_order_code: s.textOrNull,
  /** Whether the order was one of an offline store. */
  store_order: s.flagOrNull,
  store_name: s.textOrNull,
  third_party_name: s.textOrNull,
  sub_brand_id: s.integerOrNull,
  tag_name: s.textOrNull,
});

/**
 * A review (docs/interface.md, "Review"). Dates are ISO 8601 with offset, to the millisecond. An absent field is null,
 * an absent list is empty. Fields beyond these are kept unchanged.
 */
export type Review = v.InferOutput<typeof review>;
