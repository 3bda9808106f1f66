import type { Link } from './catalog.ts';

/** What belongs together though no foreign key says so; `by` are the columns that both have, or `theirs = ours`. */
export const links: readonly Link[] = [
  { from: 'warehouse.reviews', to: 'warehouse.review_images', by: ['id = review_id'], many: '0..n' },
  { from: 'warehouse.reviews', to: 'warehouse.review_videos', by: ['id = review_id'], many: '0..n' },
  { from: 'warehouse.reviews', to: 'warehouse.review_options', by: ['id = review_id'], many: '0..n' },
  { from: 'warehouse.product_ratings', to: 'warehouse.reviews', by: ['product_id'], many: '0..n' },
  { from: 'sync.product_links', to: 'warehouse.reviews', by: ['product_id'], many: '0..n' },
  { from: 'sync.product_links', to: 'sync.sub_order_links', by: ['product_id'], many: '0..n' },
  { from: 'sync.order_links', to: 'sync.sub_order_links', by: ['order_code'], many: '0..n' },
  { from: 'sync.order_links', to: 'warehouse.reviews', by: ['order_code'], many: '0..n' },
  { from: 'sync.runs', to: 'sync.export_windows', by: ['id = run_id'], many: '0..n' },
  { from: 'sync.runs', to: 'sync.run_parts', by: ['id = run_id'], many: '0..n' },
  { from: 'sync.runs', to: 'sync.late_reviews', by: ['id = run_id'], many: '0..n' },
  { from: 'warehouse.reviews', to: 'sync.late_reviews', by: ['id = review_id'], many: '0..n' },
  { from: 'warehouse.reviews', to: 'sync.absent_reviews', by: ['id = review_id'], many: '0..1' },
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
  { from: 'bi.reviews_by_day', to: 'bi.reviews', by: ['day = created_on'], many: '0..n' },
  { from: 'bi.coverage_by_day', to: 'bi.reviews_by_day', by: ['day'], many: '0..1' },
  { from: 'bi.score_trend', to: 'bi.reviews', by: ['month = created_month'], many: '0..n' },
  { from: 'bi.score_trend', to: 'bi.photo_share', by: ['month'], many: '0..1' },
];
