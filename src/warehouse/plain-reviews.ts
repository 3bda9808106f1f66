/**
 * The fields of a review that `land_reviews.sql` takes by `json`, which is faster than by `jsonb` and of these brings the
 * very same: text, whole numbers, truth values and null for a column of such a type, anything for one of `jsonb`. Of all
 * others the two would make something else: of 1e3 in a column of text, or of a field that goes to `extra`.
 */
export const plainFields: Readonly<Record<string, 'scalar' | 'any' | 'given'>> = {
  ...{ id: 'scalar', code: 'scalar', display: 'scalar', user_id: 'scalar', user_code: 'scalar', user_name: 'scalar' },
  ...{ message: 'scalar', score: 'scalar', created_at: 'scalar', updated_at: 'scalar', product_id: 'scalar' },
  ...{ product_code: 'scalar', review_type: 'scalar', images_count: 'scalar', videos_count: 'scalar' },
  ...{ likes_count: 'scalar', plus_likes_count: 'scalar', comments_count: 'scalar', source: 'scalar' },
  ...{ order_code: 'scalar', sub_order_code: 'scalar', store_order: 'scalar', store_name: 'scalar' },
  ...{ third_party_name: 'scalar', sub_brand_id: 'scalar', tag_name: 'scalar' },
  ...{ product_options: 'any', images: 'any', videos: 'any', options: 'any', video_urls: 'given' },
};
