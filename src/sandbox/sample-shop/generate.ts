import { day, type Period } from './calendar.ts';
import { generateMembers, type MemberGradeRow, type MemberRow, memberGrades } from './members.ts';
import { generateOrders, type Order, type OrderRow, type StoreRow, stores } from './orders.ts';
import { type CategoryRow, createShelf, generateCatalogue, type ProductRow } from './products.ts';
import { createRandom } from './random.ts';
import { generateReviews, type SeedReview } from './reviews.ts';
import { type OrderItemOptionRow, type OrderItemRow, type ShipmentRow, unfoldOrders } from './unfold-orders.ts';

export type { SeedReview } from './reviews.ts';

export type SampleShopOptions = {
  seed: number;
  /** Nothing happens after this moment. */
  now: Date;
  orders: number;
  reviews: number;
};

/** The rows of schema.sql, table by table. */
export type ShopTables = {
  member_grades: readonly MemberGradeRow[];
  members: readonly MemberRow[];
  categories: readonly CategoryRow[];
  products: readonly ProductRow[];
  stores: readonly StoreRow[];
  orders: readonly OrderRow[];
  shipments: readonly ShipmentRow[];
  order_items: readonly OrderItemRow[];
  order_item_options: readonly OrderItemOptionRow[];
};

export type SampleShop = {
  tables: ShopTables;
  products: readonly ProductRow[];
  /** The oldest first. */
  reviews: readonly SeedReview[];
};

const months = 26;

/**
 * Makes up a shop and the reviews of its products over the 26 months up to `now`: the same for the same options. Each
 * product in an order has at least one review, and one week holds more reviews than a window can show.
 *
 * @throws RangeError if there are orders but no reviews: then no product could be learned.
 */
export function generateSampleShop(options: SampleShopOptions): SampleShop {
  if (options.orders > 0 && options.reviews < 1) throw new RangeError('a sample shop with orders needs reviews too');
  const random = createRandom(options.seed);
  const end = options.now.getTime();
  const period: Period = { start: end - Math.round(months * 30.44) * day, end };
  const { categories, products } = generateCatalogue(random.fork('catalogue'), period);
  const members = generateMembers(random.fork('members'), period, Math.max(50, Math.round(options.orders * 0.6)));
  const reviewed = products.slice(0, Math.max(1, options.reviews));
  const surroundings = { period, members, shelf: createShelf(reviewed) };
  const orders: Order[] = generateOrders({ ...surroundings, random: random.fork('orders') }, options.orders);
  const reviews = generateReviews(
    { ...surroundings, random: random.fork('reviews'), products: reviewed, orders },
    options.reviews,
  );
  const rows = products.map((product) => product.row);
  return {
    tables: { member_grades: memberGrades, members, categories, products: rows, stores, ...unfoldOrders(orders) },
    products: rows,
    reviews,
  };
}
