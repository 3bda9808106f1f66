import { busyMoment, dateIn, day, hour, type Moment, type Period, second } from './calendar.ts';
import { fakeMobile, type MemberRow, memberAt, personName } from './members.ts';
import { type LineFate, lineFate } from './order-fate.ts';
import { chosenOptions, type Product } from './products.ts';
import type { Random } from './random.ts';

export type StoreRow = { store_no: number; store_name: string };

export type OrderRow = {
  order_id: number;
  order_no: string;
  member_no: number | null;
  buyer_name: string;
  buyer_mobile: string | null;
  buyer_email: string | null;
  sales_channel: 'pc_web' | 'mobile_web' | 'app' | 'store';
  store_no: number | null;
  goods_amount: number;
  shipping_fee: number;
  coupon_discount: number;
  points_used: number;
  paid_amount: number;
  ordered_at: Date;
  modified_at: Date;
  removed_at: Date | null;
};

/** An order with what its reviews need to know of it. */
export type Order = { row: OrderRow; member: MemberRow | undefined; lines: Line[]; parcel: Parcel | undefined };
export type Line = { product: Product; options: Record<string, string>; quantity: number; fate: LineFate };
export type Parcel = { carrier: string; trackingNo: string; shippedAt: Moment; deliveredAt: Moment | undefined };

export type OrderSurroundings = {
  random: Random;
  period: Period;
  members: readonly MemberRow[];
  shelf: (random: Random, at: Moment) => Product;
};

export const stores: readonly StoreRow[] = [
  { store_no: 1, store_name: '성수점' },
  { store_no: 2, store_name: '연남점' },
  { store_no: 3, store_name: '부산 서면점' },
];

/** One order in ten is of the last 30 days. */
export function generateOrders(around: OrderSurroundings, count: number): Order[] {
  const { random, period } = around;
  const lately = { start: period.end - 30 * day, end: period.end };
  const before = { start: period.start, end: lately.start - second };
  const recent = Math.round(count / 10);
  const moments = Array.from({ length: count }, (_, index) => busyMoment(random, index < recent ? lately : before));
  const ofDay = new Map<string, number>();
  return moments
    .sort((a, b) => a - b)
    .map((at, index) => {
      const date = dateIn(at).compact;
      const number = (ofDay.get(date) ?? 10) + random.integer(1, 7);
      ofDay.set(date, number);
      return generateOrder(around, at, { id: 500001 + index, no: `${date}-${String(number).padStart(7, '0')}` });
    });
}

function generateOrder(around: OrderSurroundings, at: Moment, name: { id: number; no: string }): Order {
  const { random, period, members, shelf } = around;
  const member = random.chance(0.88) ? memberAt(random, members, at) : undefined;
  const channel = random.weighted([
    ['mobile_web', 46],
    ['app', 28],
    ['pc_web', 22],
    ['store', 4],
  ] as const);
  const inStore = channel === 'store';
  const parcel = inStore ? undefined : sentParcel(random, at, period.end);
  const lines = Array.from({ length: lineCount(random) }, (): Line => {
    const product = shelf(random, at);
    const quantity = random.weighted([
      [1, 90],
      [2, 8],
      [3, 2],
    ] as const);
    const fate = lineFate(random, { orderedAt: at, parcel, inStore, now: period.end });
    return { product, options: chosenOptions(random, product.kind), quantity, fate };
  });
  const removedAt = at + random.integer(1, 20) * day;
  const removed = random.chance(0.004) && removedAt < period.end;
  const confirmedAt = Math.min(at + random.integer(5, 900) * second, period.end);
  const row: OrderRow = {
    order_id: name.id,
    order_no: name.no,
    member_no: member?.member_no ?? null,
    ...buyer(random, member, inStore),
    sales_channel: channel,
    store_no: inStore ? random.pick(stores).store_no : null,
    ...amounts(random, lines, inStore),
    ordered_at: new Date(Math.floor(at / second) * second),
    modified_at: new Date(removed ? removedAt : confirmedAt),
    removed_at: removed ? new Date(removedAt) : null,
  };
  return { row, member, lines, parcel: lines.some((line) => line.fate.inParcel) ? parcel : undefined };
}

const lineCount = (random: Random) =>
  random.weighted([
    [1, 60],
    [2, 25],
    [3, 10],
    [4, 4],
    [5, 1],
  ] as const);

function buyer(random: Random, member: MemberRow | undefined, inStore: boolean) {
  if (member) return { buyer_name: member.real_name, buyer_mobile: member.mobile, buyer_email: member.email };
  // A customer who pays at the counter need not give a name.
  if (inStore) return { buyer_name: personName(random), buyer_mobile: null, buyer_email: null };
  return {
    buyer_name: personName(random),
    buyer_mobile: fakeMobile(random),
    buyer_email: random.chance(0.6) ? `guest${random.integer(10000, 99999)}@example.com` : null,
  };
}

function amounts(random: Random, lines: readonly Line[], inStore: boolean) {
  const goods = lines.reduce((sum, line) => sum + line.product.row.selling_price * line.quantity, 0);
  const shipping = inStore || goods >= 50000 ? 0 : 3000;
  const coupon = random.chance(0.25) ? random.pick([3000, 5000, Math.floor(goods / 1000) * 100]) : 0;
  const points = random.chance(0.2) ? Math.min(random.integer(5, 80) * 100, goods - coupon) : 0;
  return {
    goods_amount: goods,
    shipping_fee: shipping,
    coupon_discount: coupon,
    points_used: points,
    paid_amount: goods + shipping - coupon - points,
  };
}

function sentParcel(random: Random, orderedAt: Moment, now: Moment): Parcel | undefined {
  const shippedAt = orderedAt + random.integer(10, 60) * hour + random.integer(0, 3599) * second;
  const deliveredAt = shippedAt + random.integer(15, 52) * hour + random.integer(0, 3599) * second;
  const [carrier, digits] = random.pick([
    ['CJ대한통운', 12],
    ['한진택배', 12],
    ['롯데택배', 12],
    ['우체국택배', 13],
  ] as const);
  const trackingNo = String(random.integer(10 ** 11, 9 * 10 ** 11)).padEnd(digits, '7');
  if (shippedAt > now) return undefined;
  return { carrier, trackingNo, shippedAt, deliveredAt: deliveredAt > now ? undefined : deliveredAt };
}
