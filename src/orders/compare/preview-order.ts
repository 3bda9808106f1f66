import { type OrderBody, type SubOrderPatch, sentAmount } from '../../review-api/index.ts';
import type { Shop } from '../../shop/index.ts';
import type { RawOrder } from '../../shop/orders.ts';
import { orderLinks } from '../../warehouse/orders/order-links.ts';
import { contactFields, type OrderAge } from '../order/contact-rule.ts';
import { fieldsToClear, isUnchanged, type PushPolicy, requestBody } from '../order/desired-order.ts';
import { diffSubOrders, type LineLink } from '../order/diff-sub-orders.ts';
import { findInShop } from '../order/find-in-shop.ts';
import type { PreparedOrder } from '../order/prepare-order.ts';
import { shownWithoutShop } from '../push/post-order.ts';
import type { OrderComparison } from './compare-order.ts';
import { type LookDeps, type OrderLook, openLookup, rememberedOf } from './look-at-order.ts';

/** A request as the next run would send it. */
export type PreviewedRequest = { method: 'POST' | 'PUT' | 'DELETE'; path: string; body: unknown };

/** Why the next run of `sync orders` would send nothing about the order. */
export type NothingToSend = 'unchanged' | 'deleted in the shop' | 'cannot be read' | 'not in the shop';

export type OrderPreview = {
  /** As the shop stores it. */
  code: string;
  /** With the customer's data. */
  shop: RawOrder | undefined;
  /** Why the order cannot be sent. */
  fault: string | undefined;
  /** Undefined: the next run sends the requests. */
  nothingToSend: NothingToSend | undefined;
  /** The requests that bring the service in line with the shop, in their order; with the customer's data. */
  requests: PreviewedRequest[];
  /** Fields with a value in the shop that the contact rule leaves out of the requests. */
  withheld: string[];
  /** Why: by the age of the order, or, where it is young, by an earlier backfill. Undefined where the order cannot be read. */
  age: OrderAge | undefined;
  /** Lines of which nothing is sent, and why. */
  linesNotSent: { lineCode: string; reason: string }[];
  atService: 'found' | 'absent' | 'failed';
  /** Why the service could not be asked about the order. */
  lookupFault: string | undefined;
  comparison: OrderComparison | undefined;
};

export type PreviewDeps = LookDeps & { shop: Pick<Shop, 'orders'>; deletes: 'off' | 'send' };

/** What the next run of `sync orders` would send about one order, and how both ends compare now. Sends nothing but GET. */
export async function previewOrder(deps: PreviewDeps, asked: string): Promise<OrderPreview> {
  const { code, raw } = await findInShop(deps, asked);
  const lookup = await openLookup(deps);
  const [ours] = raw ? await rememberedOf(deps.db, [raw]) : [];
  if (!ours) {
    const link = (await orderLinks(deps.db, [code])).get(code);
    const shown = await lookup.show(code, link?.orderId ?? null);
    return { ...nothing(code), ...shownOf(shown), nothingToSend: 'not in the shop' };
  }
  const look = await lookup.look(ours, policy.contact);
  const { desired } = ours;
  const preview: OrderPreview = {
    ...nothing(code),
    ...shownOf(look.shown),
    shop: ours.raw,
    fault: ours.fault,
    comparison: look.comparison,
  };
  if (!desired) return { ...preview, nothingToSend: 'cannot be read' };
  if (desired.prepared.order.deletedAt) {
    const isDeleted = deps.deletes === 'send' && look.shown.kind === 'found';
    if (!isDeleted || look.shown.kind !== 'found') return { ...preview, nothingToSend: 'deleted in the shop' };
    return {
      ...preview,
      requests: [{ method: 'DELETE', path: `/v1/orders/${look.shown.detail.id}`, body: undefined }],
    };
  }
  return {
    ...preview,
    ...(isUnchanged(desired, ours.link, policy) && { nothingToSend: 'unchanged' as const }),
    requests: requestsOf(look),
    withheld: look.withheld,
    age: look.age,
    linesNotSent: notSent(desired.prepared),
  };
}

const notSent = ({ waiting, faulty }: PreparedOrder): OrderPreview['linesNotSent'] => [
  ...waiting.map(({ lineCode, productCode }) => ({
    lineCode,
    reason: `it waits until the service is known to have product ${productCode}`,
  })),
  ...faulty.map(({ lineCode, reason }) => ({ lineCode, reason: `it would be a dead letter: ${reason}` })),
];

const policy: PushPolicy = { contact: 'young', removals: 'usual' };

const nothing = (code: string): OrderPreview => ({
  code,
  shop: undefined,
  fault: undefined,
  nothingToSend: undefined,
  requests: [],
  withheld: [],
  age: undefined,
  linesNotSent: [],
  atService: 'absent',
  lookupFault: undefined,
  comparison: undefined,
});

const shownOf = (shown: OrderLook['shown']): Pick<OrderPreview, 'atService' | 'lookupFault'> => ({
  atService: shown.kind,
  lookupFault: shown.kind === 'failed' ? shown.reason : undefined,
});

/** The requests of one push, from what the service shows now. */
function requestsOf({ shop, shown, withheld }: OrderLook): PreviewedRequest[] {
  const { desired, link, lines: links } = shop;
  if (!desired) return [];
  const { lines, waiting, faulty } = desired.prepared;
  const detail = shown.kind === 'found' ? shown.detail : undefined;
  const clear = [
    ...fieldsToClear(desired, link?.sentFields ?? []),
    ...(detail ? shownWithoutShop(desired, detail) : []),
  ];
  const contact = contactFields.filter((field) => !withheld.includes(field));
  const body: OrderBody = requestBody(desired, { contact, clear: [...new Set(clear)] });
  const untouched = new Set([...waiting, ...faulty].map((line) => line.lineCode));
  const diff = diffSubOrders(detail?.sub_orders ?? [], lines, links, untouched, {
    unseen: (link?.unseen ?? []) as LineLink[],
  });
  const subOrders = `/v1/orders/${detail?.id ?? ':order_id'}/sub_orders`;
  return [
    { method: 'POST', path: '/v1/orders', body: { ...body, total_price: sentAmount(body.total_price, 'total_price') } },
    ...diff.change.map((one): PreviewedRequest => {
      return { method: 'PUT', path: `${subOrders}/${one.subOrderId}`, body: withSentPrice(one.patch) };
    }),
    ...[...diff.remove, ...diff.removeDuplicates].map((one): PreviewedRequest => {
      return { method: 'DELETE', path: `${subOrders}/${one.subOrderId}`, body: undefined };
    }),
    ...diff.create.map(
      (one): PreviewedRequest => ({ method: 'POST', path: subOrders, body: withSentPrice(one.content) }),
    ),
  ];
}

/** The client shortens amounts when it sends them. */
const withSentPrice = <Body extends SubOrderPatch>(body: Body): Body =>
  body.price === undefined ? body : { ...body, price: sentAmount(body.price, 'price') };
