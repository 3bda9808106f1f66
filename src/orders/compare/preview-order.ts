import type { RawOrder } from '../../shop/orders.ts';
import { orderLinks } from '../../warehouse/orders/order-links.ts';
import type { OrderAge } from '../order/contact-rule.ts';
import { isNotForService, isUnchanged, type PushPolicy } from '../order/desired-order.ts';
import { type OrderDifference, type OrderRequest, requestsOf } from '../order/order-difference.ts';
import { findInShop } from '../order/read-orders.ts';
import type { OrderDeps } from '../order-deps.ts';
import { type LookDeps, openLookup, shopOrders } from './look-at-order.ts';

/** Why the next run of `sync orders` would send nothing about the order. */
export type NothingToSend = 'unchanged' | 'deleted in the shop' | 'cannot be read' | 'not in the shop';

export type OrderPreview = {
  /** As the shop stores it. */
  code: string;
  /** With the customer's data. */
  shop: RawOrder | undefined;
  /** Why the order cannot be sent. */
  fault: string | undefined;
  /** Undefined: the next run that reads the order sends the requests. */
  nothingToSend: NothingToSend | undefined;
  /** The requests that bring the service in line with the shop, in their order; with the customer's data. */
  requests: OrderRequest[];
  /** Fields with a value in the shop that the contact rule leaves out of the requests. */
  withheld: string[];
  /**
   * Why: by the age of the order, or, where it is young, by an earlier backfill. Undefined where the order cannot be
   * read.
   */
  age: OrderAge | undefined;
  /** Lines of which nothing is sent, and why. */
  linesNotSent: { lineCode: string; reason: string }[];
  atService: 'found' | 'absent' | 'failed';
  /** Why the service could not be asked about the order. */
  lookupFault: string | undefined;
  difference: OrderDifference | undefined;
};

const policy: PushPolicy = { contact: 'young', allowRemovals: false };

/**
 * What the next run of `sync orders` would send about one order, and how both ends compare now. Sends nothing but GET.
 */
export async function previewOrder(deps: LookDeps & Pick<OrderDeps, 'shop'>, asked: string): Promise<OrderPreview> {
  const { code, raw } = await findInShop(deps, asked);
  const lookup = await openLookup(deps);
  const [ours] = raw ? await shopOrders(deps, [raw]) : [];
  const look = ours && (await lookup.look(ours, policy.contact));
  const orderId = (await orderLinks(deps.db, [code])).get(code)?.orderId ?? null;
  const shown = look?.shown ?? (await lookup.show(code, orderId));
  const preview: OrderPreview = {
    code,
    shop: raw,
    fault: ours?.fault,
    nothingToSend: ours ? undefined : 'not in the shop',
    requests: [],
    withheld: look?.withheld ?? [],
    age: look?.age,
    linesNotSent: [],
    atService: shown.kind,
    lookupFault: shown.kind === 'failed' ? shown.reason : undefined,
    difference: look?.difference,
  };
  if (!ours || !look) return preview;
  const { desired, remembered } = ours;
  if (!desired) return { ...preview, nothingToSend: 'cannot be read' };
  const isGone =
    desired.order.deletedAt !== undefined && (shown.kind === 'absent' || isNotForService(desired, remembered.link));
  if (isGone) return { ...preview, nothingToSend: 'deleted in the shop' };
  return {
    ...preview,
    nothingToSend: isUnchanged(desired, remembered.link, policy) ? 'unchanged' : undefined,
    requests: look.difference ? requestsOf(look.difference) : [],
    linesNotSent: look.difference?.linesNotSent ?? [],
  };
}
