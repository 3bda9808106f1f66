import type { Counts } from '../counts.ts';
import type { Logger } from '../log.ts';
import { NotFoundError, type OrderDetail, type ReviewApi } from '../review-api/index.ts';
import type { Db } from '../warehouse/index.ts';
import { forgetSubOrderLinks, type OrderLink, recordOrdersPushed, subOrderLinksOf } from '../warehouse/links.ts';
import { type IntentDeps, intentOf } from './order-intent.ts';
import type { PreparedOrder } from './prepare-order.ts';

type RemoveDeps = IntentDeps & { api: Pick<ReviewApi, 'orders'>; db: Db; log: Logger };

/** What becomes of an order that the shop has deleted. Promise 6: nothing is destroyed unasked, and no reviews, ever. */
export async function removeOrder(
  deps: RemoveDeps,
  prepared: PreparedOrder,
  link: OrderLink | undefined,
): Promise<Counts> {
  const { code, createdAt, updatedAt } = prepared.order;
  if (!link?.orderId) return { orders_deleted_unpushed: 1 };
  if (deps.deletes === 'off') return { orders_deleted_kept: 1 };
  const detail = await orderAtService(deps, link.orderId);
  if (detail && (detail.code !== code || detail.sub_orders.some((subOrder) => subOrder.reviews_count !== 0))) {
    deps.log.warn({ order: code }, 'the shop deleted the order, but it has reviews: it stays at the service');
    return { orders_deleted_kept: 1 };
  }
  if (detail) await deps.api.orders.remove(link.orderId);
  deps.log.info({ order: code, orderId: link.orderId }, 'deleted the order at the service, as the shop did');
  const lines = (await subOrderLinksOf(deps.db, [code])).get(code) ?? [];
  await forgetSubOrderLinks(
    deps.db,
    lines.map((line) => ({ order_code: code, line_code: line.lineCode })),
  );
  const { print } = intentOf(deps, prepared, link);
  await recordOrdersPushed(deps.db, [
    { order_code: code, order_id: null, fingerprint: print, shop_updated_at: updatedAt, ordered_at: createdAt },
  ]);
  return { orders_deleted: 1 };
}

/** Undefined where it is gone: an earlier attempt deleted it and could not write that down. */
async function orderAtService({ api }: RemoveDeps, id: number): Promise<OrderDetail | undefined> {
  try {
    return await api.orders.get(id);
  } catch (error) {
    if (error instanceof NotFoundError) return undefined;
    throw error;
  }
}
