/**
 * The views of `bi` that are exported. All others can be computed from them: those about reviews by day, product, score
 * or month from `reviews`, those about delivered products from `sub_orders` and `reviews` by `order_key` and
 * `product_id`.
 */
export type ExportedTable =
  | {
      name: 'reviews' | 'sub_orders';
      /** The column by whose month the rows are put into files. */
      by: string;
      /**
       * Sorts the rows of a file, so that the same rows give the same bytes, and readers can skip row groups by date.
       */
      order: readonly string[];
    }
  | {
      /** A view of few rows: one file, compared with the one before by its content. */
      name: 'product_ratings' | 'coverage_by_day' | 'freshness';
      by?: never;
      order: readonly string[];
    };

export const exportedTables: readonly ExportedTable[] = [
  { name: 'reviews', by: 'created_at', order: ['created_at', 'review_id'] },
  {
    name: 'sub_orders',
    by: 'ordered_at',
    order: ['ordered_at', 'order_key', 'product_id', 'status', 'delivered_at', 'price'],
  },
  { name: 'product_ratings', order: ['product_id', 'product_code'] },
  { name: 'coverage_by_day', order: ['day'] },
  { name: 'freshness', order: [] },
];
