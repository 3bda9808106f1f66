import type { Link } from './catalog.ts';

/** What belongs together in the views of `bi`; `by` are the columns that both have, or `theirs = ours`. */
export const links: readonly Link[] = [
  { from: 'bi.response_by_order', to: 'bi.sub_orders', by: ['order_key'], many: '0..n' },
  { from: 'bi.response_by_order', to: 'bi.reviews', by: ['order_key'], many: '0..n' },
  { from: 'bi.reviews_by_product', to: 'bi.reviews', by: ['product_id'], many: '0..n' },
  { from: 'bi.reviews_by_product', to: 'bi.sub_orders', by: ['product_id'], many: '0..n' },
  { from: 'bi.reviews_by_product', to: 'bi.product_ratings', by: ['product_id'], many: '0..1' },
  {
    from: 'bi.reviews_by_product',
    to: 'bi.reviews_per_delivered_sub_order_by_product',
    by: ['product_id'],
    many: '0..1',
  },
  { from: 'bi.reviews', to: 'bi.replies', by: ['review_id'], many: '0..n' },
  { from: 'bi.reviews_by_day', to: 'bi.reviews', by: ['day = created_on'], many: '0..n' },
  { from: 'bi.coverage_by_day', to: 'bi.reviews_by_day', by: ['day'], many: '0..1' },
  { from: 'bi.score_trend', to: 'bi.reviews', by: ['month = created_month'], many: '0..n' },
  { from: 'bi.score_trend', to: 'bi.photo_share', by: ['month'], many: '0..1' },
];
