import { NotFoundError, type OrderDetail, type ReviewApi } from '../review-api/index.ts';
import type { Shop } from '../shop/index.ts';
import type { RawOrder } from '../shop/orders.ts';
import { lettersOfOrder } from '../warehouse/dead-letters.ts';
import type { Db } from '../warehouse/index.ts';
import { type OrderLink, orderLinks, productIds, type SubOrderLink, subOrderLinksOf } from '../warehouse/links.ts';
import { diffSubOrders, type LineLink, type SubOrderDiff } from './diff-sub-orders.ts';
import { prepareOrder } from './prepare-order.ts';
import { productCodesOf } from './sync-orders.ts';

export type OrderExplanation = {
  code: string;
  /** The shop's rows; undefined where the shop does not hold the order. E-mail, phone and name are only told to be there. */
  shop: RawOrder | undefined;
  link: OrderLink | undefined;
  lines: SubOrderLink[];
  letters: Awaited<ReturnType<typeof lettersOfOrder>>;
  /** The order as the service holds it; undefined where it does not. */
  service: OrderDetail | undefined;
  /** What a push now would do to the sub-orders; undefined where one end does not hold the order. */
  difference: SubOrderDiff | undefined;
};

export type ExplainDeps = { api: Pick<ReviewApi, 'orders'>; shop: Shop; db: Db };

/** The life of one order: what the shop holds, what was pushed, what the service holds, what differs. Changes nothing. */
export async function explainOrder(deps: ExplainDeps, code: string): Promise<OrderExplanation> {
  const [raw] = await deps.shop.orders([code]);
  const link = (await orderLinks(deps.db, [code])).get(code);
  const lines = (await subOrderLinksOf(deps.db, [code])).get(code) ?? [];
  const service = await orderAtService(deps, code, link?.orderId ?? null);
  return {
    code,
    shop: raw && { ...raw, order: discreet(raw.order) },
    link,
    lines,
    letters: await lettersOfOrder(deps.db, code),
    service: service && discreet(service),
    difference: raw && service && (await differenceNow(deps, raw, service, lines)),
  };
}

async function orderAtService({ api }: ExplainDeps, code: string, id: number | null): Promise<OrderDetail | undefined> {
  try {
    return await (id === null ? api.orders.getByCode(code) : api.orders.get(id));
  } catch (error) {
    if (error instanceof NotFoundError) return undefined;
    throw error;
  }
}

async function differenceNow(
  deps: ExplainDeps,
  raw: RawOrder,
  service: OrderDetail,
  links: readonly SubOrderLink[],
): Promise<SubOrderDiff | undefined> {
  const prepared = prepareOrder(raw, await productIds(deps.db, productCodesOf([raw])));
  if (!('order' in prepared)) return undefined;
  const untouched = new Set(prepared.held.map((line) => line.lineCode));
  return diffSubOrders(service.sub_orders, prepared.lines, links as LineLink[], untouched);
}

const personal = ['user_email', 'user_phone', 'user_name', 'username', 'phone'];

/** Whether the field is there is what one wants to know; its value is nobody's business on a screen (promise 9). */
function discreet<T extends object>(record: T): T {
  return Object.fromEntries(
    Object.entries(record).map(([name, value]) => [name, personal.includes(name) && value ? '(there)' : value]),
  ) as T;
}
