import type { Shop } from '../../src/shop/index.ts';
import type { OrderRange, RawOrder } from '../../src/shop/orders.ts';
import { here, type Scheduler } from './scheduler.ts';

export type ShopLine = {
  lineCode: string;
  productId: number;
  price: string;
  status: string;
  invoice: string | null;
  options: Record<string, string>;
};

/** An order as the shop's queries show it. `updatedMs` need not be when it was committed. */
export type ShopOrder = {
  code: string;
  createdMs: number;
  updatedMs: number;
  total: string;
  userCode: string | null;
  email: string | null;
  phone: string | null;
  deletedMs: number | null;
  lines: readonly ShopLine[];
};

type Moment = (one: ShopOrder) => number;

/** `committedMs`: from when on the queries show this version. Undefined: the row is gone. */
export type Version = { committedMs: number; order: ShopOrder | undefined };

export type SimulatedShop = ReturnType<typeof createShop>;

/** The orders of a shop, each in all its versions. */
export function createShop(
  scheduler: Scheduler,
  {
    hasFeed,
    isBroken,
    onOrders,
  }: { hasFeed: boolean; isBroken: () => boolean; onOrders: (codes: readonly string[]) => void },
) {
  /** Orders with a row that has no usable total. */
  const unreadable = new Set<string>();
  const versions = new Map<string, Version[]>();
  const iso = (ms: number) => `${new Date(ms).toISOString().slice(0, -1)}000Z`;
  const current = (code: string): ShopOrder | undefined =>
    versions.get(code)?.findLast((one) => one.committedMs <= scheduler.now())?.order;
  const all = (): ShopOrder[] => [...versions.keys()].flatMap((code) => current(code) ?? []);

  const rowsOf = (one: ShopOrder): RawOrder => ({
    order: {
      code: one.code,
      created_at: iso(one.createdMs),
      updated_at: iso(one.updatedMs),
      total_price: unreadable.has(one.code) ? '?' : one.total,
      user_code: one.userCode,
      user_name: null,
      user_email: one.email,
      user_phone: one.phone,
      deleted_at: one.deletedMs === null ? null : iso(one.deletedMs),
    },
    lines: one.lines.map((line) => ({
      order_code: one.code,
      line_code: line.lineCode,
      product_id: String(line.productId),
      product_code: null,
      price: line.price,
      status: line.status,
      invoice: line.invoice,
      product_options: JSON.stringify(line.options),
    })),
  });

  /** A reading sees one moment, and its result comes later. */
  function reading<T>(what: string, read: () => T): Promise<T> {
    const process = here.getStore();
    return new Promise((resolve, reject) => {
      const readNow = () => {
        scheduler.tell(`shop ${what}`, process);
        try {
          if (isBroken()) throw new Error('orders.sql cannot be run');
          const result = read();
          scheduler.add(scheduler.random.next() * 10, () => resolve(result), process);
        } catch (error) {
          reject(error);
        }
      };
      scheduler.add(scheduler.random.next() * 10, readNow, process);
    });
  }

  /** The orders after the last one that was read, by `msOf` and code. */
  function page(orders: readonly ShopOrder[], { after, size }: OrderRange, fromMs: number, msOf: Moment, atOf = msOf) {
    const keys = orders
      .filter((one) => msOf(one) > fromMs || (msOf(one) === fromMs && one.code > after.code))
      .sort((a, b) => msOf(a) - msOf(b) || (a.code < b.code ? -1 : 1))
      .slice(0, size)
      .map((one) => ({ at: iso(atOf(one)), code: one.code }));
    const last = keys.at(-1);
    return last && keys.length === size ? { keys, next: last } : { keys };
  }

  const shop = {
    dialect: 'postgres' as const,
    hasFeed: async () => hasFeed,
    orderQueriesHash: async () => 'always the same',
    orderCodes: (range: OrderRange) =>
      reading(`codes by ${range.axis} after ${range.after.at}`, () => {
        const { axis, after, before, inCodeOrder } = range;
        const created: Moment = (one) => one.createdMs;
        // As `iso` writes it. Otherwise two orders of one millisecond on a page would come again and again.
        const dateOf: Moment = axis === 'updated' ? (one) => Math.floor(one.updatedMs) : created;
        const fromMs = after.at === '-infinity' ? Number.NEGATIVE_INFINITY : Date.parse(after.at);
        const isIn = (one: ShopOrder) =>
          inCodeOrder ? dateOf(one) > fromMs : before === undefined || dateOf(one) < Date.parse(before);
        if (axis === 'code') return page(all(), range, 0, () => 0, created);
        const orders = all().filter(isIn);
        return inCodeOrder ? page(orders, range, 0, () => 0, created) : page(orders, range, fromMs, dateOf);
      }),
    orders: (codes: readonly string[]) =>
      codes.length === 0
        ? Promise.resolve([])
        : reading(`orders ${codes.join(' ')}`, () => {
            onOrders(codes);
            return [...new Set(codes)].flatMap((code) => {
              const one = current(code);
              return one ? [rowsOf(one)] : [];
            });
          }),
    linesFault: async () => undefined,
    catalog: async () => undefined,
    hasQuery: async () => true,
    now: () => reading('now', () => iso(scheduler.now())),
    close: async () => {},
  };

  return {
    /** Stands in for what `openShop` returns. */
    shop: shop as unknown as Shop,
    versions,
    unreadable,
    current,
    all,
    /** @param afterMs how long the transaction takes to commit. */
    change(code: string, order: ShopOrder | undefined, afterMs = 0): void {
      const known = versions.get(code) ?? [];
      const committedMs = Math.max(scheduler.now() + afterMs, (known.at(-1)?.committedMs ?? 0) + 1);
      known.push({ committedMs, order });
      versions.set(code, known);
    },
    /** The newest version, committed or not. */
    newest: (code: string): ShopOrder | undefined => versions.get(code)?.at(-1)?.order,
    /** When the order last changed; 0: never. */
    changedMs: (code: string): number => versions.get(code)?.at(-1)?.committedMs ?? 0,
  };
}
