import { busyMoment, day, hour, type Moment, type Period, saleMoment, saleWeek, second } from './calendar.ts';
import { type MemberRow, memberAt, personName } from './members.ts';
import { reviewMessage, withAfterthought } from './message.ts';
import type { Line, Order } from './orders.ts';
import { chosenOptions, type Product } from './products.ts';
import type { Random } from './random.ts';

/** A review as the reference service is seeded with it. */
export type SeedReview = {
  product_code: string;
  user_code?: string;
  user_name?: string;
  message: string;
  /** null: no rating. */
  score: number | null;
  created_at: Date;
  updated_at: Date;
  product_options?: Record<string, string>;
  images_count: number;
  source: 'brand_pc' | 'brand_mobile' | 'sms' | 'email';
  order_code: string | null;
  display: boolean;
};

export type ReviewSurroundings = {
  random: Random;
  period: Period;
  members: readonly MemberRow[];
  products: readonly Product[];
  orders: readonly Order[];
  shelf: (random: Random, at: Moment) => Product;
};

/** What a review is about, before anything is said. */
type Occasion = { at: Moment; product: Product; bought?: { order: Order; line: Line } };

/** The share of the sale week in all reviews: 4,500 of 20,000, more than 30 pages of 100 hold. */
const shareOfSale = 0.225;

export function generateReviews(around: ReviewSurroundings, count: number): SeedReview[] {
  const { random, period, products, orders, shelf } = around;
  const week = saleWeek(period.end);
  const occasions = firstReviews(random, products, period).slice(0, count);
  const room = Math.floor((count - occasions.length) * 0.3);
  occasions.push(...random.sample(purchaseReviews(random, orders, period.end), room));
  const inSale = Math.min(Math.round(count * shareOfSale), count - occasions.length);
  for (let made = 0; made < inSale; made += 1) {
    const at = saleMoment(random, week);
    occasions.push({ at, product: shelf(random, at) });
  }
  while (occasions.length < count) {
    const at = busyMoment(random, period);
    occasions.push({ at, product: shelf(random, at) });
  }
  return occasions.sort((a, b) => a.at - b.at).map((occasion) => generateReview(around, occasion, week));
}

/** One for each product: the id that the service gives a product is learned from its reviews only. */
function firstReviews(random: Random, products: readonly Product[], period: Period): Occasion[] {
  return products.map((product) => {
    const start = Math.max(period.start, product.row.released_at.getTime());
    return { at: busyMoment(random, { start, end: period.end }), product };
  });
}

function purchaseReviews(random: Random, orders: readonly Order[], now: Moment): Occasion[] {
  return orders.flatMap((order) => {
    const deliveredAt =
      order.parcel?.deliveredAt ?? (order.row.store_no === null ? undefined : order.row.ordered_at.getTime());
    if (deliveredAt === undefined || order.row.removed_at !== null) return [];
    return order.lines
      .filter((line) => line.fate.status === 'N40' && random.chance(0.5))
      .map((line) => ({
        at: deliveredAt + random.integer(1, 14 * 24) * hour + random.integer(0, 3_599_999),
        product: line.product,
        bought: { order, line },
      }))
      .filter(({ at }) => at <= now);
  });
}

function generateReview(around: ReviewSurroundings, occasion: Occasion, week: Period): SeedReview {
  const { random, period, members } = around;
  const { at, product, bought } = occasion;
  const inSale = at >= week.start && at < week.end;
  const score = random.weighted<number | null>([
    [5, 67],
    [4, 17],
    [3, 7],
    [2, 3],
    [1, 3.5],
    [null, 2.5],
  ]);
  const options = bought?.line.options ?? chosenOptions(random, product.kind);
  const message = reviewMessage(random, { group: product.group, score, options, inSale });
  const editedAt = random.chance(0.08) ? laterThan(random, at, period.end) : at;
  const member = bought ? bought.order.member : random.chance(0.95) ? memberAt(random, members, at) : undefined;
  return {
    product_code: product.row.product_code,
    ...(member ? { user_code: member.login_id } : {}),
    user_name: member?.real_name ?? bought?.order.row.buyer_name ?? personName(random),
    message: editedAt > at && random.chance(0.6) ? withAfterthought(random, message) : message,
    score,
    created_at: new Date(at),
    updated_at: new Date(editedAt),
    ...(Object.keys(options).length > 0 ? { product_options: options } : {}),
    images_count: imagesCount(random, inSale),
    source: random.weighted([
      ['brand_mobile', 48],
      ['brand_pc', 20],
      ['sms', 26],
      ['email', 6],
    ]),
    order_code: bought?.order.row.order_no ?? null,
    display: random.chance(0.985),
  };
}

function laterThan(random: Random, at: Moment, now: Moment): Moment {
  const later = random.weighted([
    [random.integer(30, 3600) * second, 50],
    [random.integer(1, 72) * hour, 25],
    [Math.floor((3 + random.next() * 60) * day), 25],
  ]);
  return Math.min(at + later, now);
}

function imagesCount(random: Random, inSale: boolean): number {
  return random.chance(inSale ? 0.4 : 0.24)
    ? random.weighted([
        [1, 45],
        [2, 30],
        [3, 15],
        [4, 10],
      ])
    : 0;
}
