import type { OrderDetail } from '../../review-api/index.ts';
import type { RawOrder } from '../../shop/orders.ts';
import { deadLettersOfOrder } from '../../warehouse/dead-letters.ts';
import { type LineLinkRow, type OrderLink, orderLines, orderLinks } from '../../warehouse/orders/order-links.ts';
import { withoutPersonalData } from '../order/order-difference.ts';
import { findInShop } from '../order/read-orders.ts';
import type { OrderDeps } from '../order-deps.ts';
import { type LookDeps, openLookup, shopOrders } from './look-at-order.ts';

export type OrderExplanation = {
  /** As the shop stores it. */
  code: string;
  /**
   * The shop's rows; undefined where the shop does not have the order. Name, e-mail and phone are only said to be
   * there.
   */
  shop: RawOrder | undefined;
  link: OrderLink | undefined;
  lines: LineLinkRow[];
  deadLetters: Awaited<ReturnType<typeof deadLettersOfOrder>>;
  /** The order as the service shows it; undefined where it does not have it. */
  service: OrderDetail | undefined;
  /** Why nobody knows whether the service has the order. */
  lookupFault: string | undefined;
  /** What a push would send. Undefined where one end does not have the order, or its rows cannot be read. */
  difference: ReturnType<typeof withoutPersonalData> | undefined;
};

export type ExplainDeps = LookDeps & { shop: Pick<OrderDeps['shop'], 'orders'> };

/**
 * The life of one order: what the shop has, what was pushed, what the service has, and how they compare. Changes
 * nothing.
 *
 * @param asked the order's code; the shop's own spelling is found by itself, see findInShop.
 */
export async function explainOrder(deps: ExplainDeps, asked: string): Promise<OrderExplanation> {
  const { code, raw } = await findInShop(deps, asked);
  const link = (await orderLinks(deps.db, [code])).get(code);
  const lookup = await openLookup(deps);
  const [ours] = raw ? await shopOrders(deps, [raw]) : [];
  const look = ours && (await lookup.look(ours, 'young'));
  const shown = look?.shown ?? (await lookup.show(code, link?.orderId ?? null));
  const difference = shown.kind === 'found' ? look?.difference : undefined;
  return {
    code,
    shop: raw && { ...raw, order: withoutContact(raw.order) },
    link,
    lines: (await orderLines(deps.db, [code])).get(code) ?? [],
    deadLetters: await deadLettersOfOrder(deps.db, code),
    service: shown.kind === 'found' ? withoutContact(shown.detail) : undefined,
    lookupFault: shown.kind === 'failed' ? shown.reason : undefined,
    difference: difference && withoutPersonalData(difference),
  };
}

const personal = ['user_email', 'user_phone', 'user_name', 'username', 'phone'];

/** Says only whether the customer's fields have a value (promise 9). */
function withoutContact<T extends object>(record: T): T {
  return Object.fromEntries(
    Object.entries(record).map(([name, value]) => [name, personal.includes(name) && value ? '(a value)' : value]),
  ) as T;
}
